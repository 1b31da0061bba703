// timer_heap.hpp — one processor's timers: a 4-ary heap of (when, node), nodes changed without touching the heap.
//
//   node.when_    `disarmed`, or the instant at which it is due. The heap's entries are only hints:
//                 an entry {when, node} is live  <=>  node.when_ == when
//
//   arm(when)     node.when_ = when, push an entry                       (heap lock)
//   disarm()      when_ -> disarmed by one exchange; its entry is a zombie  (no lock)
//   run_due(now)  pops; a live entry is claimed by compare-and-swap when_ -> disarmed, then node.fire runs (heap lock)
//
// I1  whoever takes when_ from an armed value to `disarmed` owns the firing: exactly once, whatever races
// I2  an entry's node stays readable for as long as the entry may exist: nodes live in type-stable memory (a goroutine's
//     block, a timer slab), never on a stack
// I3  a duplicate entry of equal `when` is harmless: the first claims, the second finds it disarmed
// I4  zombies <= max(64, len/4): beyond that the heap is rebuilt without them
// I5  `fire` runs under the heap lock: it only claims and collects (never ready(), never user code). So after
//     disarm() returned false, sync_with_fire() waits for a fire that is under way.
// Rejected: an index in each node (8 cache misses a pop at 100,000 timers); Go's modified/zombie states (three bits and
// an adjust pass): equality of `when` says the same.
#pragma once
#include <cstdint>

#include "base/raw_lock.hpp"
#include "os/os.hpp"

namespace weft::inline v0::rt {

struct goroutine;
class timer_heap;
class ready_batch;   // sched/ready_batch.hpp: goroutines to make runnable once the heap lock is released

class timer_node {
 public:
  // Called under the heap lock with the node already disarmed. May arm it again by returning the next instant
  // (a ticker); returns `disarmed` otherwise.
  using fire_fn = std::int64_t (*)(timer_node& node, std::int64_t now, ready_batch& out) noexcept;
  static constexpr std::int64_t disarmed = -1;   // no instant is negative: arm() clamps

  fire_fn fire = nullptr;
  bool is_armed() const noexcept { return when_.load(relaxed) != disarmed; }  // [order] relaxed: advisory
  std::int64_t when() const noexcept { return when_.load(relaxed); }
  // True: it will not fire, this call stopped it. False: it was not armed, or its fire has been claimed.
  bool disarm() noexcept;
  // After disarm() returned false: returns when no fire of this node is under way.
  void sync_with_fire() noexcept;

 private:
  friend class timer_heap;
  atomic<std::int64_t> when_{disarmed};
  atomic<timer_heap*> heap_{nullptr};            // where it was armed last
};

class timer_heap {
 public:
  // Arms a disarmed node (or moves an armed one) to `when`. True: it is now the earliest of this heap.
  bool arm(timer_node& node, std::int64_t when) noexcept;
  // Fires what is due at `now`. Returns the earliest remaining instant, os::forever if none.
  std::int64_t run_due(std::int64_t now, ready_batch& out) noexcept;
  // [order] relaxed: a hint for the scheduler; exactness comes from the lock in run_due().
  std::int64_t earliest() const noexcept { return earliest_.load(relaxed); }
  std::uint32_t size() const noexcept { return size_.load(relaxed); }   // entries, zombies included
  std::uint32_t live() const noexcept;                                  // entries that may still fire; advisory
  // Takes all of other's timers (a P is destroyed). The world is stopped.
  void absorb(timer_heap& other) noexcept;
  void clear() noexcept;                          // the world has ended: drop every entry, disarm every node

 private:
  struct entry { std::int64_t when; timer_node* node; };
  // ... implementation members (entries_ in runtime pages grown by os::grow_pages, zombies_, lock_) ...
};

}  // namespace weft::inline v0::rt
