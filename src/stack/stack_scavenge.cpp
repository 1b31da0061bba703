// stack_scavenge.cpp — which free stacks lose their pages, and when.
//
// The measure is need, not age: dirty free stacks that were there during the whole of the last half second
// are more than anybody wanted, however often single ones were taken and given meanwhile. That many lose
// their pages, from the slab that was left alone for the longest. A million stacks freed at once are known to
// be unneeded after at most two periods, and cost about 0.5 us each.
//
// A stack whose pages go is taken out of its slab's sets first, so the system call runs without the lock and
// nobody can be given it meanwhile.
#include <algorithm>

#include "os/os.hpp"
#include "stack/stack_slab.hpp"

namespace weft::inline v0::rt {
namespace {

// Touched by the one helper thread.
constinit std::int64_t period_ns = 500'000'000;
constinit std::int64_t period_began = 0;
constinit std::size_t excess = 0;         // stacks of default size still to be looked after
constinit std::size_t large_excess = 0;

void begin_period(std::int64_t now) noexcept {
  period_began = now;
  excess = default_stacks().fewest_dirty_since_asked();
  large_excess = large_stacks_unneeded();
}

}  // namespace

std::size_t stack_slabs::fewest_dirty_since_asked() noexcept {
  locked hold(lock_);
  std::size_t fewest = fewest_dirty_;
  fewest_dirty_ = dirty_total_;
  return fewest;
}

// Up to `limit` dirty stacks of the slab that was left alone for the longest, out of its sets: nobody's but
// ours.
stack_slabs::claim stack_slabs::claim_dirty(std::size_t limit) noexcept {
  locked hold(lock_);
  claim c{dirty_.back(), {}, 0};
  if (c.slab == nullptr) return c;
  while (c.count < limit && c.slab->dirty_count > 0) {
    unsigned slot = c.slab->dirty.highest();
    c.slab->dirty.remove(slot);
    c.slab->free.remove(slot);
    c.stacks.add(slot);
    --c.slab->dirty_count;
    --c.slab->free_count;
    --dirty_total_;
    ++c.count;
  }
  fewest_dirty_ = std::min(fewest_dirty_, dirty_total_);
  relist(c.slab, false);
  return c;
}

void stack_slabs::give_pages_back(const claim& c) const noexcept {
  std::byte* base = c.slab->base.load(relaxed);   // [order] relaxed: see new_slab()
  for (unsigned i = 0; i < per_slab_;) {
    unsigned end = i;
    while (end < per_slab_ && c.stacks.has(end)) ++end;
    if (end > i) os::give_back(base + i * stack_size_, (end - i) * stack_size_);   // guards stay
    i = end + 1;
  }
}

std::size_t stack_slabs::scavenge_one(std::size_t limit) noexcept {
  claim c = claim_dirty(limit);
  if (c.count == 0) return 0;
  give_pages_back(c);
  locked hold(lock_);
  for (unsigned i = 0; i < per_slab_; ++i) {
    if (!c.stacks.has(i)) continue;
    c.slab->free.add(i);
    ++c.slab->free_count;
  }
  relist(c.slab, false);
  return c.count;
}

void stack_scavenge_period(std::int64_t ns) noexcept { period_ns = ns; }

std::size_t stack_scavenge(std::int64_t budget_ns) noexcept {
  std::int64_t now = os::nanotime();
  const std::int64_t end = now + budget_ns;
  if (now - period_began >= period_ns) begin_period(now);
  std::size_t bytes = 0;
  for (; now < end && (excess > 0 || large_excess > 0); now = os::nanotime()) {
    std::size_t stacks = excess > 0 ? default_stacks().scavenge_one(excess) : 0;
    std::size_t large = large_excess > 0 ? large_stack_scavenge(1) : 0;
    bytes += stacks * default_stacks().stack_size() + large;
    excess = stacks > 0 ? excess - stacks : 0;
    large_excess = large > 0 ? large_excess - 1 : 0;
  }
  return bytes;
}

}  // namespace weft::inline v0::rt
