// timer_heap.cpp — see timer_heap.hpp. Top to bottom: nodes, arming, firing, the heap itself, the end of a P.
#include "timeheap/timer_heap.hpp"

#include <algorithm>

#include "base/check.hpp"
#include "os/linux/pause.hpp"

namespace weft::inline v0::rt {

// ---- nodes ----

bool timer_node::disarm() noexcept {
  for (;;) {
    // [order] acquire pairs with fire()'s release: after a false the effects of the fire are ours.
    std::int64_t w = when_.load(acquire);
    if (w == moving) {
      os::cpu_pause(1);
      continue;
    }
    if (w < 0) return false;
    // [order] acquire pairs with start()'s release: where_ below is that of this arming.
    if (!when_.compare_exchange_weak(w, disarmed, acquire)) continue;
    // [order] release pairs with live(): who counts this end has counted the arming too.
    where_.load(relaxed).pointer()->ended_.fetch_add(1, release);
    return true;
  }
}

void timer_node::sync_with_fire() const noexcept {
  // [order] acquire pairs with fire()'s release: its effects are ours. The lock is only a place to sleep.
  while (when_.load(acquire) == firing) {
    timer_heap& at = *where_.load(relaxed).pointer();
    at.lock_.lock();
    at.lock_.unlock();
  }
}

// ---- arming ----

bool timer_heap::arm(timer_node& node, std::int64_t when) noexcept {
  when = std::max<std::int64_t>(when, 0);
  // An earlier arming is taken back, wherever it was; one that is firing right now counts as fired (and if
  // its fire arms the node again, that too is taken back). [order] relaxed: disarm() acquires; here only the
  // value counts, and start()'s stores depend on it.
  while (!node.disarm() && node.when_.load(relaxed) != timer_node::disarmed) node.sync_with_fire();
  locked guard(lock_);
  std::int64_t before = earliest_.load(relaxed);   // [order] relaxed: written under our lock only
  start(node, when);
  std::uint32_t zombies = size_ - std::min<std::uint32_t>(size_, live());
  if (zombies > std::max<std::uint32_t>(64, size_ / 4)) drop_zombies();
  publish_earliest();
  return earliest_.load(relaxed) < before;   // [order] relaxed: as above
}

void timer_heap::start(timer_node& node, std::int64_t when) noexcept {
  // [order] relaxed: where_ is ours while the node is not armed; the store to when_ publishes it.
  auto turn = static_cast<std::uint16_t>(node.where_.load(relaxed).turn() + 1);
  node.where_.store({this, turn}, relaxed);
  ++armed_;
  node.when_.store(when, release);   // [order] pairs with disarm() and fire(): where_ and node.fire are seen
  push({when, {&node, turn}});
}

std::uint32_t timer_heap::live() const noexcept {
  // [order] acquire pairs with the release of each end: never more of them than armings.
  std::uint64_t ended = ended_.load(acquire);
  return static_cast<std::uint32_t>(armed_.get() - ended);
}

bool timer_heap::is_live(const entry& e) const noexcept {
  // [order] relaxed: a node is armed here under our lock only, so what we see of such an arming is current.
  const timer_node& node = *e.node.pointer();
  return node.when_.load(relaxed) == e.when &&
         node.where_.load(relaxed) == turned(const_cast<timer_heap*>(this), e.node.turn());
}

// ---- firing ----

std::int64_t timer_heap::run_due(std::int64_t now, ready_batch& out, std::uint32_t most) noexcept {
  constexpr std::uint32_t at_once = 32;   // nodes lie anywhere: they are fetched while the next are popped
  locked guard(lock_);
  auto is_due = [&] { return size_ > 0 && entries_[0].when <= now; };
  while (most > 0 && is_due()) {
    entry due[at_once];
    std::uint32_t n = 0;
    for (; n < std::min(at_once, most) && is_due(); ++n) {
      due[n] = pop();
      __builtin_prefetch(due[n].node.pointer(), 1);
    }
    for (std::uint32_t i = 0; i < n; ++i) fire(due[i], now, out);
    most -= n;
  }
  drop_zombies_at_top();
  constexpr std::uint32_t small = 4096;
  if (capacity_ > small && size_ < capacity_ / 8) resize(capacity_ / 2 * sizeof(entry));
  publish_earliest();
  return earliest_.load(relaxed);   // [order] relaxed: written under our lock only
}

std::int64_t timer_heap::earliest_live() noexcept {
  locked guard(lock_);
  drop_zombies_at_top();
  publish_earliest();
  return earliest_.load(relaxed);   // [order] relaxed: as above
}

void timer_heap::fire(const entry& e, std::int64_t now, ready_batch& out) noexcept {
  timer_node& node = *e.node.pointer();
  if (!is_live(e)) return;
  std::int64_t w = e.when;
  // [order] acquire pairs with start()'s release, as the node may have been armed on another heap since
  // is_live().
  if (!node.when_.compare_exchange_strong(w, timer_node::firing, acquire)) return;
  turned<timer_heap> where = node.where_.load(relaxed);
  where.pointer()->ended_.fetch_add(1, release);          // [order] as in disarm()
  node.where_.store({this, where.turn()}, relaxed);       // for sync_with_fire()
  std::int64_t next = node.fire(node, now, out);
  if (next >= 0)
    start(node, std::max(next, now + 1));   // never due again at once: this loop must end
  else
    node.when_.store(timer_node::disarmed, release);      // [order] pairs with disarm() and sync_with_fire()
}

void timer_heap::publish_earliest() noexcept {
  earliest_.store(size_ > 0 ? entries_[0].when : os::forever, relaxed);   // [order] relaxed: a hint
}

// ---- the heap: the children of i are 4i+1 .. 4i+4 ----

namespace {
// Entry 1 begins a cache line, and with it every group of four siblings.
constexpr std::size_t first_entry_offset = 48;
constexpr std::size_t first_bytes = 4096;
}  // namespace

void timer_heap::push(entry e) noexcept {
  if (size_ == capacity_) {
    std::size_t bytes = entries_ ? 2 * (capacity_ * sizeof(entry) + first_entry_offset) : first_bytes;
    if (!resize(bytes)) fatal("out of memory: timers");
  }
  std::uint32_t hole = size_;
  ++size_;
  sift_up(entries_, hole, e);
}

timer_heap::entry timer_heap::pop() noexcept {
  WEFT_DCHECK(size_ > 0);
  entry first = entries_[0];
  --size_;
  if (size_ > 0) sift_down(entries_, size_, 0, entries_[size_]);
  return first;
}

void timer_heap::sift_up(entry* heap, std::uint32_t hole, entry e) noexcept {
  while (hole > 0) {
    std::uint32_t parent = (hole - 1) / 4;
    if (heap[parent].when <= e.when) break;
    heap[hole] = heap[parent];
    hole = parent;
  }
  heap[hole] = e;
}

void timer_heap::sift_down(entry* heap, std::uint32_t size, std::uint32_t hole, entry e) noexcept {
  for (;;) {
    std::uint32_t child = 4 * hole + 1;
    if (child >= size) break;
    std::uint32_t least = child;
    for (std::uint32_t i = child + 1; i < std::min(child + 4, size); ++i)
      if (heap[i].when < heap[least].when) least = i;
    if (heap[least].when >= e.when) break;
    heap[hole] = heap[least];
    hole = least;
  }
  heap[hole] = e;
}

// Nobody is to be woken for one.
void timer_heap::drop_zombies_at_top() noexcept {
  while (size_ > 0 && !is_live(entries_[0])) pop();
}

void timer_heap::drop_zombies() noexcept {
  constexpr std::uint32_t ahead = 16;   // nodes lie anywhere: fetch them before they are looked at
  std::uint32_t kept = 0, size = size_;
  for (std::uint32_t i = 0; i < size; ++i) {
    if (i + ahead < size) __builtin_prefetch(entries_[i + ahead].node.pointer());
    if (is_live(entries_[i])) entries_[kept++] = entries_[i];
  }
  size_ = kept;
  for (std::uint32_t i = (kept + 2) / 4; i-- > 0;) sift_down(entries_, kept, i, entries_[i]);
}

bool timer_heap::resize(std::size_t bytes) noexcept {
  std::byte* old = entries_ ? reinterpret_cast<std::byte*>(entries_) - first_entry_offset : nullptr;
  std::size_t old_bytes = capacity_ * sizeof(entry) + first_entry_offset;
  void* pages = old ? os::grow_pages(old, old_bytes, bytes) : os::allocate_pages(bytes);
  if (!pages) return false;
  entries_ = reinterpret_cast<entry*>(static_cast<std::byte*>(pages) + first_entry_offset);
  capacity_ = static_cast<std::uint32_t>((bytes - first_entry_offset) / sizeof(entry));
  return true;
}

// ---- the end of a P, the end of a world ----

void timer_heap::absorb(timer_heap& other) noexcept {
  entry* entries;
  std::uint32_t size;
  std::size_t bytes = other.capacity_ * sizeof(entry) + first_entry_offset;
  {
    locked guard(other.lock_);
    entries = other.entries_;
    size = other.size_;
    other.entries_ = nullptr;
    other.capacity_ = 0;
    other.size_ = 0;
    other.publish_earliest();
  }
  if (!entries) return;
  {
    locked guard(lock_);
    for (std::uint32_t i = 0; i < size; ++i) {
      timer_node& node = *entries[i].node.pointer();
      std::int64_t w = entries[i].when;
      if (!other.is_live(entries[i])) continue;
      // [order] acquire and, in start(), release: the node's owner may be disarming it at the same time.
      if (!node.when_.compare_exchange_strong(w, timer_node::moving, acquire)) continue;
      other.ended_.fetch_add(1, release);   // [order] as in disarm()
      start(node, w);
    }
    publish_earliest();
  }
  os::free_pages(reinterpret_cast<std::byte*>(entries) - first_entry_offset, bytes);
}

void timer_heap::clear() noexcept {
  locked guard(lock_);
  for (std::uint32_t i = 0; i < size_; ++i)
    if (is_live(entries_[i])) entries_[i].node.pointer()->disarm();
  if (entries_)
    os::free_pages(reinterpret_cast<std::byte*>(entries_) - first_entry_offset,
                   capacity_ * sizeof(entry) + first_entry_offset);
  entries_ = nullptr;
  capacity_ = 0;
  size_ = 0;
  publish_earliest();
}

}  // namespace weft::inline v0::rt
