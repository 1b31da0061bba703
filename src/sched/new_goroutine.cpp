// new_goroutine.cpp — the birth of a goroutine: conceive (a block, a place for the closure), the closure is
// built by the user's code outside, bear (it becomes runnable, in run_next).
#include <algorithm>
#include <bit>
#include <functional>
#include <new>

#include "sched/sched.hpp"
#include "weft/detail/start.hpp"

namespace weft::inline v0::rt {

namespace {

void count_birth(machine* mp) noexcept {
  if (mp->pp != nullptr)
    ++mp->pp->born;
  else
    sched.born_elsewhere.fetch_add(1, relaxed);      // [order] relaxed: a count
}

}  // namespace

void delete_closure(goroutine* gp) noexcept {
  if (gp->outside_align_log2 != 0)
    ::operator delete(gp->closure(), std::align_val_t{std::size_t{1} << gp->outside_align_log2});
}

void submit_new(machine* mp, goroutine* gp) noexcept {
  sanitizer::hb_release(gp);
  emit(event::goroutine_create, gp->id);
  if (mp->pp == nullptr && !sched.running.load(acquire)) {   // [order] acquire: pairs with begin_world()
    locked hold(sched.lock);
    if (!sched.running.load(relaxed)) {
      gp->status.store(g_status::runnable, relaxed);
      sched.before_world.push_back(gp);
      return;
    }
  }
  count_birth(mp);
  gp->world = static_cast<std::uint16_t>(sched.world.load(relaxed));   // [order] relaxed: fixed while it runs
  make_runnable(mp, gp, true);
}

namespace {

void fill_in(machine* mp, goroutine* gp, const detail::birth& how) noexcept {
  const goroutine* parent = mp->current;
  gp->saved = {};
  gp->carried = {};
  gp->reason.store(wait_reason::none, relaxed);      // [order] relaxed: for dumps
  gp->fp_env = how.fp_env;
  gp->exiting = false;
  gp->id = new_goroutine_id(mp->pp);
  gp->parent_id = parent != nullptr ? parent->id : 0;
  gp->stack_size = how.stack_size;
  gp->name = how.name;
  gp->starts_locked = how.locked;
}

}  // namespace

goroutine* newborn(void (*entry)(void*), void* arg) noexcept {
  machine* mp = this_machine();
  if (!sched.running.load(relaxed)) return nullptr;   // [order] relaxed: asked again later
  goroutine* gp = take_goroutine(mp->pp);
  if (gp == nullptr) return nullptr;
  fill_in(mp, gp, {});
  gp->entry = entry;
  ::new (gp->inline_closure) void*(arg);
  gp->outside_align_log2 = 0;
  gp->created_at = nullptr;
  // [order] relaxed: fixed while it runs, and timers fire in it
  gp->world = static_cast<decltype(gp->world)>(sched.world.load(relaxed));
  gp->status.store(g_status::waiting, relaxed);      // [order] relaxed: it is nobody's yet
  count_birth(mp);
  emit(event::goroutine_create, gp->id);
  return gp;
}

}  // namespace weft::inline v0::rt

namespace weft::inline v0 {
namespace {

struct bad_go final : std::bad_function_call {
  const char* what() const noexcept override { return "go of nil func value"; }
};

}  // namespace
}  // namespace weft::inline v0

namespace weft::inline v0::detail {

void throw_nil_function() { throw bad_go(); }

unborn conceive(const birth& how, std::size_t size, std::size_t align) {
  void* own = nullptr;
  constexpr std::size_t block_align = 8;
  const bool fits = size <= rt::goroutine::inline_closure_size && align <= block_align;
  align = std::max(align, block_align);
  if (!fits) own = ::operator new(size, std::align_val_t{align});   // outside
  rt::goroutine* gp;
  {
    rt::inside in;
    gp = rt::take_goroutine(in->pp);
    if (gp != nullptr) rt::fill_in(in.get(), gp, how);
  }
  if (gp == nullptr) {
    if (own != nullptr) ::operator delete(own, std::align_val_t{align});
    throw std::bad_alloc();
  }
  rt::sanitizer::hb_acquire(gp);                     // the block's last goroutine ended before
  gp->outside_align_log2 = fits ? 0 : static_cast<std::uint8_t>(std::countr_zero(align));
  if (!fits) ::new (gp->inline_closure) void*(own);
  return {gp, gp->closure()};
}

void abandon(unborn u) noexcept {
  rt::goroutine* gp = u.gp;
  rt::delete_closure(gp);
  rt::inside in;
  rt::free_goroutine(in->pp, gp);
}

void bear(unborn u, void (*entry)(void*)) noexcept {
  u.gp->entry = entry;
  u.gp->created_at = __builtin_return_address(0);
  rt::inside in;
  rt::submit_new(in.get(), u.gp);
}

}  // namespace weft::inline v0::detail
