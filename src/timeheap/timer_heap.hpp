// timer_heap.hpp — one processor's timers: a 4-ary heap of (when, node); nodes change without touching it.
//
//   node.when_    disarmed, or the instant at which it is due, or that somebody is at it (firing, moving)
//   node.where_   the heap where it was armed last, and how often it has been armed (16 bits): its turn
//
// The heap's entries are only hints. An entry {when, node, turn} is live  <=>  node.when_ is the same instant
// and node.where_ the same heap and turn; otherwise it is a zombie and will be dropped some day.
//
//   arm(when)     lock of this heap: takes back an earlier arming, then where_, when_ = when, push
//   disarm()      no lock: when_ -> disarmed by one compare-and-swap; its entry is a zombie
//   run_due(now)  lock of this heap: pops; a live entry is claimed by compare-and-swap when_ -> firing;
//                 node.fire runs; when_ -> disarmed, or the next instant
//
// I1  whoever takes when_ away from an instant owns that arming: it fires exactly once or not at all,
//     whatever races
// I2  an entry's node stays readable for as long as the entry may exist: nodes live in type-stable memory (a
//     goroutine's block, a timer slab), never on a stack
// I3  an armed node has exactly one live entry. The turn sees to that: waiting for one deadline again and
//     again, on this heap or in turn on two, would otherwise leave entries that all look live. (After 65,536
//     turns an old entry can look live again. It has the right instant: the first claims, the second finds
//     nothing.)
// I4  zombies <= max(64, size/4) after each arm(): beyond that the heap is rebuilt without them
//     (zombies = size - live)
// I5  `fire` runs under the heap lock: it only claims and collects (never ready(), arm(), user code). So
//     after disarm() returned false, sync_with_fire() waits for a fire that is under way. `firing` is a state
//     of the node and not just the lock: a node armed again elsewhere for the same instant may be fired by
//     either heap.
// I6  one thread at a time arms a node; disarm() is for any number of threads
// I7  armed_ - ended_ over all heaps is the exact number of armed nodes whenever nobody is at it (for
//     deadlock detection)
//
// Rejected: an index in each node (8 cache misses a pop at 100,000 timers); Go's modified/zombie states
// (three bits and an adjust pass): equality says the same.
#pragma once
#include <algorithm>
#include <cstdint>

#include "base/atomic.hpp"
#include "base/raw_lock.hpp"
#include "os/os.hpp"

namespace weft::inline v0::rt {

class timer_heap;
class ready_batch;   // sched/ready_batch.hpp: goroutines to make runnable once the heap lock is released

// A pointer and 16 bits. User addresses have 48 bits at most (x86-64 and aarch64, unless one asks for more).
template <class T>
class turned {
 public:
  constexpr turned() noexcept = default;
  turned(T* p, std::uint16_t turn) noexcept
      : word_(reinterpret_cast<std::uint64_t>(p) | static_cast<std::uint64_t>(turn) << 48) {}
  T* pointer() const noexcept { return reinterpret_cast<T*>(word_ & ((std::uint64_t{1} << 48) - 1)); }
  std::uint16_t turn() const noexcept { return static_cast<std::uint16_t>(word_ >> 48); }
  bool operator==(const turned&) const noexcept = default;

 private:
  std::uint64_t word_ = 0;
};

class timer_node {
 public:
  // Called under the heap lock, with the node claimed. May arm it again by returning the next instant, later
  // than `now` (a ticker); returns `disarmed` otherwise.
  using fire_fn = std::int64_t (*)(timer_node& node, std::int64_t now, ready_batch& out) noexcept;
  static constexpr std::int64_t disarmed = -1;   // no instant is negative: arm() clamps

  fire_fn fire = nullptr;   // set while disarmed
  bool is_armed() const noexcept { return when() != disarmed; }
  // The instant, or `disarmed`. [order] relaxed: advisory.
  std::int64_t when() const noexcept { return std::max(when_.load(relaxed), disarmed); }
  // True: it will not fire, this call stopped it. False: it was not armed, or its fire has been claimed.
  bool disarm() noexcept;
  // After disarm() returned false: returns when no fire of this node is under way.
  void sync_with_fire() const noexcept;

 private:
  friend class timer_heap;
  static constexpr std::int64_t firing = -2;   // run_due() is at it
  static constexpr std::int64_t moving = -3;   // absorb() is at it: it stays armed

  atomic<std::int64_t> when_{disarmed};
  atomic<turned<timer_heap>> where_{};         // written by whoever arms it or has claimed it
};

class timer_heap {
 public:
  constexpr timer_heap() noexcept = default;
  timer_heap(const timer_heap&) = delete;
  timer_heap& operator=(const timer_heap&) = delete;

  // Arms a disarmed node (or moves an armed one) to `when`. True: it is now the earliest of this heap.
  bool arm(timer_node& node, std::int64_t when) noexcept;
  // Fires what is due at `now`, the earliest first, but looks at `most` entries only. Returns the earliest
  // remaining instant, os::forever if none.
  std::int64_t run_due(std::int64_t now, ready_batch& out, std::uint32_t most = UINT32_MAX) noexcept;
  // May be that of a zombie. [order] relaxed: a hint for the scheduler; exactness comes from the lock in
  // run_due().
  std::int64_t earliest() const noexcept { return earliest_.load(relaxed); }
  std::int64_t earliest_live() noexcept;                  // not a zombie's, which it drops
  std::uint32_t size() const noexcept { return size_; }   // entries, zombies included
  std::uint32_t live() const noexcept;                    // nodes that may still fire (I7); no lock
  // Takes all of other's timers (a P is destroyed). The world is stopped.
  void absorb(timer_heap& other) noexcept;
  void clear() noexcept;   // the world has ended: drop every entry, disarm every node

 private:
  friend class timer_node;
  struct entry {
    std::int64_t when;
    turned<timer_node> node;
  };
  bool is_live(const entry& e) const noexcept;
  void start(timer_node& node, std::int64_t when) noexcept;   // the second half of arm()
  void fire(const entry& e, std::int64_t now, ready_batch& out) noexcept;
  void push(entry e) noexcept;
  entry pop() noexcept;
  static void sift_up(entry* heap, std::uint32_t hole, entry e) noexcept;
  static void sift_down(entry* heap, std::uint32_t size, std::uint32_t hole, entry e) noexcept;
  void drop_zombies() noexcept;
  void drop_zombies_at_top() noexcept;
  bool resize(std::size_t bytes) noexcept;   // false: refused, nothing has changed
  void publish_earliest() noexcept;

  mutable ranked_lock<lock_rank::timers> lock_;
  // ---- under lock_, written through for those who only look ----
  entry* entries_ = nullptr;                    // in runtime pages; see first_entry_offset in timer_heap.cpp
  std::uint32_t capacity_ = 0;
  owned<std::uint32_t> size_{0};
  owned<std::uint64_t> armed_{0};               // armings on this heap, ever
  atomic<std::int64_t> earliest_{os::forever};
  // ---- any thread ----
  atomic<std::uint64_t> ended_{0};              // how many of them have fired or were disarmed
};

}  // namespace weft::inline v0::rt
