// poll_cache.cpp — where poll_descs lie: pages that are never unmapped, since a late event may name any of
// them.
#include <new>

#include "netpoll/poll_desc.hpp"
#include "os/os.hpp"

namespace weft::inline v0::rt {
namespace {

constexpr std::size_t slab_bytes = 64 * 1024;

ranked_lock<lock_rank::slab> lock;
poll_desc* free_descs = nullptr;       // under lock
std::byte* fresh = nullptr;            // [fresh, fresh_end): never used
std::byte* fresh_end = nullptr;

}  // namespace

poll_desc* take_poll_desc() noexcept {
  locked guard(lock);
  if (poll_desc* d = free_descs) {
    free_descs = d->next_free;
    return d;
  }
  if (fresh == fresh_end) {
    fresh = static_cast<std::byte*>(os::allocate_pages(slab_bytes));
    fresh_end = fresh ? fresh + slab_bytes / sizeof(poll_desc) * sizeof(poll_desc) : nullptr;
    if (!fresh) return nullptr;
  }
  auto* d = ::new (fresh) poll_desc;
  fresh += sizeof(poll_desc);
  return d;
}

void give_poll_desc(poll_desc* d) noexcept {
  locked guard(lock);
  d->next_free = free_descs;
  free_descs = d;
}

}  // namespace weft::inline v0::rt
