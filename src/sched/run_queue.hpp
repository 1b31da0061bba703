// run_queue.hpp — a P's own queue: a ring of 256 and the slot run_next. Go's rules (docs/scheduler.md).
//
//   run_next_   the G that the running one woke last; runs next and inherits the slice
//   ring_       head_ ........ tail_      owner appends at tail_, owner and thieves take at head_
//
// I1  only the owner moves tail_ and sets run_next_ to non-null; it and a thief may take run_next_, as below
// I2  head_ <= tail_ <= head_ + 256 (as wrapping 32-bit counters)
// I3  a slot between head_ and tail_ holds the G that was put there; whoever moves head_ past it owns that G
// I4  empty() never says "empty" while a G is moved from run_next_ to the ring
//
// The owner takes run_next_ at nearly every wake-up, a thief hardly ever (steal.cpp). So the thief pays for
// both: an asymmetric barrier keeps read-modify-writes off the owner's side.
//
//   owner                                              thief (one at a time)
//   O1  owner_at_next_ = 1                             T1  thief_at_next_ = 1
//       light barrier                                      heavy barrier
//   O2  thief_at_next_? yes: exchange run_next_        T2  owner_at_next_? yes: give up
//                       no: plain load and store                          no: exchange run_next_
//   O3  owner_at_next_ = 0                             T3  thief_at_next_ = 0
//
// If the barrier comes after O1, T2 gives up. If before, O2 comes after it too: it sees the thief, or T3 and
// with it what the thief did.
//
// `stealable_queue` is what any thread may do, `run_queue` adds what the owner alone may do.
// Slots are relaxed atomics: a thief may read one that the owner overwrites, and then fails its CAS.
#pragma once
#include "base/atomic.hpp"

namespace weft::inline v0::rt {

struct goroutine;
class run_queue;

class stealable_queue {
 public:
  static constexpr std::uint32_t capacity = 256;

  bool empty() const noexcept;                                   // I4
  std::uint32_t size() const noexcept;                           // of the ring alone
  bool has_next() const noexcept { return run_next_.load(relaxed) != nullptr; }  // [order] relaxed: a hint

  // Moves the larger half of this ring to `into` (the caller's own, empty) and returns one of them, which is
  // not in `into`. When the ring is empty and `next_too`: run_next. Null when there was nothing.
  goroutine* steal_half(run_queue& into, bool next_too, std::uint32_t& stolen) noexcept;

 protected:
  goroutine* steal_next() noexcept;

  atomic<goroutine*> run_next_{nullptr};
  atomic<bool> owner_at_next_{false}, thief_at_next_{false};
  alignas(cache_line) atomic<std::uint32_t> head_{0};
  alignas(cache_line) atomic<std::uint32_t> tail_{0};
  atomic<goroutine*> ring_[capacity] = {};
};

class run_queue : public stealable_queue {
 public:
  struct taken {
    goroutine* gp;
    bool inherits_slice;   // it came from run_next
  };

  // At the tail. False when the ring is full: see spill().
  bool put(goroutine* gp) noexcept {
    const std::uint32_t t = tail_.load(relaxed);                  // [order] relaxed: only we write it
    // [order] acquire: a thief is done with the slot
    if (t - head_.load(acquire) >= capacity) [[unlikely]] return false;
    ring_[t % capacity].store(gp, relaxed);
    tail_.store(t + 1, release);                                  // [order] release: publishes slot and G
    return true;
  }
  // Into run_next; returns the G that was there (it must be put), or null.
  goroutine* put_next(goroutine* gp) noexcept {
    // [order] relaxed: a null that we see stays, since only we set it. release publishes the G to a thief.
    if (run_next_.load(relaxed) == nullptr) {
      run_next_.store(gp, release);
      return nullptr;
    }
    return swap_next(gp);
  }
  taken get() noexcept {
    if (run_next_.load(relaxed) != nullptr)                       // [order] relaxed: as above
      if (goroutine* gp = swap_next(nullptr)) return {gp, true};
    return {get_from_ring(), false};
  }
  goroutine* get_from_ring() noexcept {
    std::uint32_t h = head_.load(acquire);                        // [order] acquire: pairs with thieves
    const std::uint32_t t = tail_.load(relaxed);
    while (h != t) {
      goroutine* gp = ring_[h % capacity].load(relaxed);
      // [order] release: the slot is free again
      if (head_.compare_exchange_weak(h, h + 1, acq_rel, acquire)) return gp;
    }
    return nullptr;
  }
  std::uint32_t tail() const noexcept { return tail_.load(relaxed); }               // [order] relaxed: ours
  bool head_has_reached(std::uint32_t position) const noexcept {
    return static_cast<std::int32_t>(head_.load(relaxed) - position) >= 0;  // [order] relaxed: it only grows
  }
  static constexpr std::uint32_t spilled = capacity / 2 + 1, most = capacity + 1;
  // The ring is full: takes its older half, and `gp`, `spilled` in all. False: thieves made room, retry.
  bool spill(goroutine* gp, goroutine** into) noexcept;
  std::uint32_t drain_ring(goroutine** into) noexcept;                // all that are in the ring, at once
  // Takes everything, run_next first, `most` at most (a P is destroyed; the world is stopped).
  std::uint32_t drain(goroutine** into) noexcept;

 private:
  friend class stealable_queue;

  // n from position h on, which is the head: false when a thief has moved it.
  bool take_oldest(std::uint32_t h, std::uint32_t n, goroutine** into) noexcept;
  goroutine* swap_next(goroutine* gp) noexcept {
    owner_at_next_.store(true, relaxed);                          // O1. [order] relaxed: the barrier pair
    light_barrier();
    goroutine* old;
    if (thief_at_next_.load(acquire)) [[unlikely]] {              // O2. [order] acquire: pairs with T3
      old = run_next_.exchange(gp, acq_rel);                      // [order] acq_rel: hands over both Gs
    } else {
      old = run_next_.load(relaxed);                              // [order] relaxed: put here by us
      run_next_.store(gp, release);                               // [order] release: publishes it to a thief
    }
    owner_at_next_.store(false, release);                         // O3. [order] release: pairs with T2
    return old;
  }
};

}  // namespace weft::inline v0::rt
