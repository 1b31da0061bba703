// processor.hpp — "P": the right to run goroutines, and what is cheap because only one M at a time has it.
//
//   idle ──acquire_p──> running ──release_p──> idle
//                         └──(stop_the_world)──> stopped ──> idle or running
//                                                   └──(set_maxprocs)──> dead ──> idle when raised again
#pragma once
#include "base/check.hpp"
#include "sched/machine.hpp"
#include "sched/run_queue.hpp"
#include "stack/stack.hpp"
#include "timeheap/timer_heap.hpp"

namespace weft::inline v0::rt {

struct chan_core;

// Go's numbers (scheddetail prints them).
enum class p_status : std::uint32_t { idle = 0, running = 1, stopped = 3, dead = 4 };

// Why the M that has this P should come to g0 soon.
enum attention : std::uint32_t {
  attend_stop = 1,         // the world is being stopped, or has ended
  attend_slice = 2,        // the slice is over: the next G comes from the ring, not from run_next
  attend_safe_point = 4,   // run the function of for_each_p
};

struct goroutine_cache {                  // g_cache.cpp
  static constexpr std::uint32_t capacity = 64;
  owned<std::uint32_t> count{0};
  goroutine* blocks[capacity];
  void push(goroutine* gp) noexcept { blocks[count] = gp; ++count; }
  goroutine* pop() noexcept { return blocks[--count]; }
};

// The channels whose locks a P holds by its bias, or is about to: chan/chan_lock.hpp. The last one is given
// back first.
struct biased_locks {
  static constexpr std::size_t capacity = 8;
  owned<std::size_t> count{0};            // owner M only, as the changes
  atomic<const chan_core*> held[capacity] = {};
  // [order] release: who finds a channel gone has seen what was done under its lock.
  bool push(const chan_core* c) noexcept {            // false: no room
    const std::size_t n = count;
    if (n == capacity) [[unlikely]] return false;
    count = n + 1;
    held[n].store(c, release);                        // [order] release: as above
    return true;
  }
  void pop([[maybe_unused]] const chan_core* c) noexcept {
    const std::size_t n = count - 1;
    WEFT_DCHECK(held[n].load(relaxed) == c);          // [order] relaxed: ours
    count = n;
    held[n].store(nullptr, release);
  }
  bool lists(const chan_core* c) const noexcept {   // any thread
    for (auto& h : held)
      if (h.load(acquire) == c) return true;        // [order] acquire: pairs with push() and pop()
    return false;
  }
};

struct alignas(cache_line) processor {
  // ---- owner M only ----
  std::uint32_t id = 0;
  owned<std::uint32_t> schedtick{0};      // +1 per slice; Go's schedtick
  owned<std::uint32_t> handed_tick{0};    // of the last slice that was a waiting thread's, and
  owned<std::int64_t> handed_when{0};     // when it began (take_waiting_thread)
  std::uint64_t next_id = 0, end_id = 0;  // goroutine ids handed out in batches
  owned<std::uint64_t> born{0}, ended{0}; // goroutines, for num_goroutine(): sums over all Ps
  goroutine_cache free_goroutines;
  stack_cache stacks;
  owned<std::uint32_t> switches{0};       // +1 per switch, also along run_next: "this P is moving"
  owned<std::uint32_t> polls{0};          // looks into the poller
  std::uint32_t turn_yields = 0;          // yields in this turn of the ring, with others in the global queue
  std::uint32_t turn_end = 0;             // the ring's tail when they began: there the turn is over
  std::uint32_t lone_yields = 0;          // yields that found nobody else here
  std::uint32_t wakes_skipped = 0;        // wake.cpp: run_next hand-offs since the last wake-up
  std::int64_t ran_timers = 0;            // when it last ran timers that were due
  biased_locks biased;                    // others look for a channel in it

  // ---- any thread ----
  alignas(cache_line) atomic<std::uint32_t> attention{0};
  atomic<p_status> status{p_status::idle};
  atomic<machine*> mp{nullptr};           // who has it (for dumps, sysmon)
  run_queue queue;                        // the thief's half of its interface: any thread
  alignas(cache_line) timer_heap timers;

  atomic<std::uint32_t> bias_debt{0};     // so many channels it makes without a bias (chan_lock.hpp)

  // ---- sysmon ----
  alignas(cache_line) std::uint32_t seen_tick = 0;
  std::int64_t seen_when = 0;              // since when schedtick is what it is
  std::uint32_t seen_switches = 0;
  machine* seen_m = nullptr;               // outside the runtime, in this stay
  stay_outside seen_stay;
  std::int64_t slice_ended = 0;            // when its slice was declared over; 0: it is not

  // ---- under sched.lock ----
  processor* link = nullptr;              // the idle list
  machine* taken_from = nullptr;          // stop_the_world: give it back to this M
};

}  // namespace weft::inline v0::rt
