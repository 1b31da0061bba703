// idle.hpp — how many Ps have nothing to do and how many Ms look for work: one word, read on every ready().
//
//   | 16 bits spinning Ms | 16 bits idle Ps |
//
// I1  an M counts as spinning  <=>  it holds a P, has no G, and has not yet looked at all queues after
//     leaving the count
// I2  work is published and a P is idle  =>  somebody spins, or the publisher wakes an M (or tells one that
//     goes idle), or the M that made the P idle finds the work when it looks again (proof: docs/parking.md)
// Changed by read-modify-write only; the lists themselves are under sched.lock.
#pragma once
#include "base/atomic.hpp"
#include "base/check.hpp"

namespace weft::inline v0::rt {

class idle_word {
 public:
  struct counts {
    std::uint32_t bits;
    std::uint32_t spinning() const noexcept { return bits >> 16; }
    std::uint32_t idle_processors() const noexcept { return bits & 0xffff; }
    bool needs_waker() const noexcept { return bits != 0 && bits < one_spinning; }  // idle Ps, nobody spins
  };

  // [order] relaxed: callers put a barrier before it
  counts look() const noexcept { return {word_.load(relaxed)}; }

  // [order] acq_rel throughout: the changes are ordered among themselves; with the queues by the barrier pair
  void add_idle_processor() noexcept { word_.fetch_add(1, acq_rel); }
  void remove_idle_processor() noexcept {
    counts before{word_.fetch_sub(1, acq_rel)};
    WEFT_CHECK(before.idle_processors() > 0);
  }
  void add_spinning() noexcept { word_.fetch_add(one_spinning, acq_rel); }
  void remove_spinning() noexcept {
    counts before{word_.fetch_sub(one_spinning, acq_rel)};
    WEFT_CHECK(before.spinning() > 0);
  }
  // The waker's ticket: from "nobody spins, some P idle" to one spinner. False: not needed any more.
  // [order] acq_rel: as above; relaxed: a failed try is only a look
  bool start_first_spinner() noexcept {
    counts seen = look();
    while (seen.needs_waker())
      if (word_.compare_exchange_weak(seen.bits, seen.bits + one_spinning, acq_rel, relaxed)) return true;
    return false;
  }

  // The end of a world: no more tickets. False: somebody holds one, a thread that is no M perhaps.
  // [order] acq_rel: as above; relaxed: a failed try is only a look
  bool close() noexcept {
    counts seen = look();
    while (seen.spinning() == 0)
      if (word_.compare_exchange_weak(seen.bits, 0, acq_rel, relaxed)) return true;
    return false;
  }

  void reset() noexcept { word_.store(0, relaxed); }   // [order] relaxed: no world, nobody reads it

 private:
  static constexpr std::uint32_t one_spinning = 1u << 16;
  atomic<std::uint32_t> word_{0};
};

}  // namespace weft::inline v0::rt
