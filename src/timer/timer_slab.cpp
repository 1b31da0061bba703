// timer_slab.cpp — see timer_slab.hpp.
#include "timer/timer_slab.hpp"

#include <cstddef>
#include <new>

#include "base/check.hpp"
#include "context/sanitizer.hpp"

namespace weft::inline v0::rt {
namespace {

static_assert(offsetof(timer_slot, node) == 0);
constexpr std::size_t slab_bytes = 64 * 1024;

ranked_lock<lock_rank::slab> lock;
timer_slot* free_slots = nullptr;      // under lock
std::byte* fresh = nullptr;            // [fresh, fresh_end): never used
std::byte* fresh_end = nullptr;

timer_slot* take() noexcept {
  locked guard(lock);
  if (timer_slot* slot = free_slots) {
    free_slots = slot->next_free;
    return slot;
  }
  if (fresh == fresh_end) {
    fresh = static_cast<std::byte*>(os::allocate_pages(slab_bytes));
    fresh_end = fresh ? fresh + slab_bytes / sizeof(timer_slot) * sizeof(timer_slot) : nullptr;
    if (!fresh) return nullptr;
    sanitizer::stack_root(fresh, slab_bytes, true);   // it names functions that nobody else may name
  }
  auto* slot = ::new (fresh) timer_slot;
  fresh += sizeof(timer_slot);
  return slot;
}

}  // namespace

timer_slot* take_timer_slot(void* owner, timer_node::fire_fn fire) noexcept {
  timer_slot* slot = take();
  if (slot) {
    slot->owner = owner;
    slot->node.fire = fire;
  }
  return slot;
}

void give_timer_slot(timer_slot* slot) noexcept {
  WEFT_DCHECK(!slot->node.is_armed());
  locked guard(lock);
  slot->next_free = free_slots;
  free_slots = slot;
}

bool quiesce(timer_node& node) noexcept {
  for (;;) {
    if (node.disarm()) return true;
    node.sync_with_fire();
    if (!node.is_armed()) return false;   // else that fire has armed it again
  }
}

}  // namespace weft::inline v0::rt
