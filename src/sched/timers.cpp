// timers.cpp — which P's heap a timer goes to, who runs it, who is told that it is early.
//
// A timer goes to the arming P's heap. It is run by that P at its scheduling points, by a thief in its last
// pass, or by the M in the poller, which sleeps until the earliest of all. A busy P reads the clock once in
// eight switches; sysmon covers a P that does not switch (docs/timers.md).
//
//   arm                                    go to sleep in the poller (find_runnable.cpp)
//   heap.earliest_ = when                  poll_until = earliest of all
//   light_barrier()                        heavy_barrier()
//   poll_until > when? break the wait      earliest of all again; sleep until then
#include "sched/timers.hpp"

#include <algorithm>

#include "os/os.hpp"
#include "sched/sched.hpp"

namespace weft::inline v0::rt {

void arm_timer(timer_node& node, std::int64_t when) noexcept {
  machine* mp = this_machine();
  processor* pp = mp->pp != nullptr ? mp->pp : &sched.processors[0];
  if (!pp->timers.arm(node, when)) return;
  light_barrier();
  wake_poller(when);
  // Our own P looks at its timers before it goes idle. Another thread's timer needs somebody who looks.
  // [order] relaxed: ordered by the barrier pair above
  if (mp->pp == nullptr && !sched.polling.load(relaxed)) wake_p();
}

void wake_poller(std::int64_t when) noexcept {
  // [order] relaxed: ordered by the barrier pair above
  if (sched.polling.load(relaxed) && sched.poll_until.load(relaxed) > when) poller.break_wait();
}

namespace {

// Woken goroutines wait for their turn in our ring, but not too many at once: the rest stays in the heap,
// where it waits in the order of its deadlines, and not behind a whole global queue. If the ring is full of
// others a few go nevertheless: more, the longer those take.
std::uint32_t room_for_woken(std::int64_t now) noexcept {
  constexpr std::uint32_t most = 32, least = 4;
  constexpr std::int64_t one_more_ns = 100'000;      // rather more than eight switches to fresh stacks take
  processor* mine = this_machine()->pp;
  if (mine == nullptr) return UINT32_MAX;
  const std::int64_t since = std::clamp<std::int64_t>(now - mine->ran_timers, 0, 1'000'000'000);
  mine->ran_timers = now;
  const std::uint32_t room = most - std::min(most, mine->queue.size());
  return std::max(room, least + static_cast<std::uint32_t>(since / one_more_ns));
}

}  // namespace

std::int64_t run_timers(processor* pp, std::int64_t now) noexcept {
  const std::int64_t earliest = pp->timers.earliest();
  if (earliest > now) return earliest;
  ready_batch batch;
  const std::int64_t next = pp->timers.run_due(now, batch, room_for_woken(now));
  ready_all(batch);
  return next;
}

std::int64_t earliest_timer() noexcept {
  std::int64_t when = os::forever;
  const std::uint32_t n = sched.maxprocs.load(acquire);   // [order] acquire: so many have been built
  for (std::uint32_t i = 0; i < n; ++i) when = std::min(when, sched.processors[i].timers.earliest());
  return when;
}

bool watch_timers(processor* pp) noexcept {
  // [order] relaxed: a hint, asked again in a few switches
  if (!sched.polling.load(relaxed) && sched.idle.look().needs_waker()) wake_p_slow();
  return pp->timers.earliest() <= os::nanotime();
}

// What sysmon does for a goroutine that makes no calls, or does not switch (preempt.cpp). It may be late.
void end_slice_for_timers(processor* pp) noexcept {
  const std::int64_t earliest = pp->timers.earliest();
  if (earliest != os::forever && os::nanotime() - earliest >= late_timer) end_slice(pp);
}

std::size_t live_timers() noexcept {
  std::size_t n = 0;
  // [order] relaxed: advisory, or the world is stopped
  for (std::uint32_t i = 0; i < sched.maxprocs.load(relaxed); ++i) n += sched.processors[i].timers.live();
  return n;
}

}  // namespace weft::inline v0::rt
