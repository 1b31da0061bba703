// wake.cpp — who must be woken when there is work. Proof: docs/parking.md.
//
//   submit                              go idle (find_runnable.cpp, give_up_p)
//   put the G into a queue              count the P idle, stop being a spinner
//   light_barrier()                     heavy_barrier()
//   idle Ps and no spinner? wake one    look at all queues again
//
// One spinner at most is started by submitters; the spinner that finds work wakes the next one
// (reset_spinning), so a burst starts as many Ms as it needs, one after the other.
//
// Not done: an M per ready G (thrash); handing the G to the woken M (loses locality).
//
// A G in run_next of a P that keeps switching runs there within nanoseconds; waking a thread for it is wasted
// (6 us and half a core in a ping-pong). So wakes for run_next alone are learnt: after `n` futile ones in a
// row the next 2^n hand-offs do not wake. A spinner that finds work resets that; sysmon rescues a run_next
// that really waits.
#include <algorithm>
#include <utility>

#include "os/os.hpp"
#include "sched/sched.hpp"

namespace weft::inline v0::rt {
namespace {

constexpr std::uint32_t futile_max = 14;             // at most 16,384 hand-offs between two tries

// Who shall run a free P; under lock. Null: one that is just going idle will, or nobody is there.
// The one in the poller comes before the others: on an idle machine it was the last to go idle.
machine* take_idle_m(bool& polls) noexcept {
  if (sched.settling != 0) {
    sched.ps_for_settling = std::min(sched.ps_for_settling + 1, sched.settling);
    return nullptr;
  }
  polls = sched.poller_m != nullptr;
  if (polls) return std::exchange(sched.poller_m, nullptr);
  machine* mp = sched.idle_ms.pop();
  if (mp != nullptr) mp->on_idle_list = false;
  sched.idle_ms_least = std::min(sched.idle_ms_least, sched.idle_ms.size());
  return mp;
}

// The goroutine that waits in wait_for_p_here() on the thread where it must go on: no need of another M
// that takes it out of the queue. Under lock; the P is the caller's.
machine* take_waiting_thread(processor* pp, std::int32_t free_cpu = -1) noexcept {
  // With one P the other CPUs are idle, and the order counts more. [order] relaxed: a heuristic
  goroutine* gp = sched.global.take_thread(sched.maxprocs.load(relaxed) > 1 ? free_cpu : -1);
  if (gp == nullptr) return nullptr;
  machine* mp = gp->bound;
  mp->waits_for_p = false;
  begin_slice(pp);
  pp->handed_when = os::nanotime();
  pp->handed_tick = pp->schedtick.get();
  leave_next_p(mp, pp);
  return mp;
}

// It computes, or it is on its way in and waits for the lock that we hold.
bool runs(const machine* mp) noexcept {
  if (!gate_word::is_outside(mp->gate.look())) return true;
  const long call = os::blocked_in(mp->thread_id);
  return call == os::not_blocked || call == os::state_unknown;   // rather wait in vain than end the program
}

// Under lock: is there an M without a P on its way to one? `used`: CPU time of those that seem to be blocked.
bool look_for_stray(std::int64_t& used) noexcept {
  for (const machine* mp = sched.all_ms; mp != nullptr; mp = mp->next_machine) {
    if (mp->comes_back) return true;
    // [order] relaxed: under the lock
    const bool stray = mp->lease.look().state() == lease_state::taken && !mp->lost.load(relaxed);
    if (!stray || mp->thread_id == 0) continue;
    if (runs(mp)) return true;
    used += os::thread_cpu_time(mp->thread_id);
  }
  return false;
}

bool something_is_due() noexcept { return somebody_has_work() || earliest_timer() <= os::nanotime(); }

// Under lock, with the P in the idle list and no M for it. As long as another P has one, and be it for a
// computation, that will come to what is queued; when it blocks somebody looks again. If only a stray will
// come, sysmon does. Two that wake each other may seem to be blocked both, one after the other, and a thread
// that is being woken does until its CPU has heard of it: so all must have stood still for a while.
bool nobody_will_come() noexcept {
  constexpr std::int64_t patience = 100'000'000, pause = 5'000'000;   // ns
  // [order] relaxed: only a stop changes it, and then no P is idle
  if (sched.threads_coming != 0 || sched.idle.look().idle_processors() != sched.maxprocs.load(relaxed))
    return false;
  const std::int64_t now = os::nanotime();
  sched.only_strays_come.store(true, relaxed);       // [order] relaxed: sysmon sees it a round later
  if (now - sched.strays_seen_when < pause) return false;   // there may be thousands, and the lock is held
  sched.strays_seen_when = now;
  std::int64_t used = 0;
  const bool comes = look_for_stray(used);
  if (comes || used != sched.strays_used) {
    sched.strays_used = comes ? -1 : used;
    sched.strays_stand_since = now;
  }
  const bool nobody = !comes && now - sched.strays_stand_since >= patience;
  if (nobody) sched.only_strays_come.store(false, relaxed);   // [order] relaxed: as above
  return nobody;
}

}  // namespace

bool only_threads_wait(processor* pp, std::int64_t now) noexcept {
  return pp->queue.empty() && sched.global.size() == sched.global.threads() && pp->timers.earliest() > now;
}

bool give_to_thread(processor* pp) noexcept {
  machine* mp;
  {
    locked hold(sched.lock);
    // [order] relaxed: under the lock; missed here, an end or a stop sees the P run
    if (sched.ended.load(relaxed) || sched.stopping.load(relaxed)) return false;
    mp = take_waiting_thread(pp);
  }
  if (mp != nullptr) mp->park_note.wake();
  return mp != nullptr;
}

void wake_p_slow() noexcept {
  if (!sched.idle.start_first_spinner()) return;
  processor* pp;
  {
    locked hold(sched.lock);
    pp = sched.stopping.load(relaxed) ? nullptr : idle_get_p();   // [order] relaxed: under the lock
    if (pp == nullptr) sched.idle.remove_spinning();   // under the lock: see start_m
  }
  if (pp != nullptr) start_m(pp, true);
}

void wake_for_next(processor* pp) noexcept {
  light_barrier();                                   // publish, then look
  if (!sched.idle.look().needs_waker()) return;
  const std::uint32_t futile = sched.futile_wakes.load(relaxed);   // [order] relaxed: a heuristic
  if (futile > 1 && pp->wakes_skipped < (1u << std::min(futile, futile_max))) {
    ++pp->wakes_skipped;
    return;
  }
  pp->wakes_skipped = 0;
  wake_p_slow();
}

void note_futile_spin() noexcept {
  const std::uint32_t n = sched.futile_wakes.load(relaxed);        // [order] relaxed: a heuristic
  if (n < futile_max) sched.futile_wakes.store(n + 1, relaxed);
}

bool stop_spinning(machine* mp) noexcept {
  if (!mp->spinning) return false;
  mp->spinning = false;
  sched.idle.remove_spinning();
  return true;
}

void reset_spinning(machine* mp) noexcept {
  stop_spinning(mp);
  sched.futile_wakes.store(0, relaxed);              // [order] relaxed: a heuristic
  wake_p();                                          // there may be more: the last one wakes its successor
}

namespace {

// Under lock: the P will lie idle, and perhaps for long. The Ms of other Ps look into the global queue once
// in a while even if they are never without work, but not into another's ring. Apart, for its frame's size.
[[gnu::noinline]] void move_to_global(processor* pp) noexcept {
  goroutine* gs[run_queue::capacity + 1];
  sched.global.push_back(gs, pp->queue.drain(gs));
}

}  // namespace

// The P goes to an idle M. If nobody is there, to one of the threads that have long waited for a P (in the
// global queue); straight to it, too, when nobody but such threads waits. Or back to the idle list, for an M
// that is just going idle and will look there (end_settling), or for a new one, which the template thread
// makes: a free P never waits for a thread.
// A new M is the last resort. With more Ms than Ps each P goes from M to M, and the kernel wakes an M where
// it slept: beside a busy one perhaps, for milliseconds, while another CPU is idle.
// A ticket that found no M ends under the lock. Whoever saw it and woke nobody relies on a look that comes
// later, by an M that goes idle, by the new M, by start_world(): each of them takes the lock after us.
void start_m(processor* pp, bool spinning, std::int32_t free_cpu) noexcept {
  machine* mp = nullptr;
  bool polls = false, with_ticket = false;
  {
    locked hold(sched.lock);
    // [order] relaxed: missed here, find_runnable() sees it
    const bool threads_first = sched.global.threads() != 0 && only_threads_wait(pp, os::nanotime());
    if (sched.ended.load(relaxed)) {
      idle_put_p(pp);
    } else if (threads_first) {
      mp = take_waiting_thread(pp, free_cpu);
    } else if ((mp = take_idle_m(polls)) != nullptr) {
      with_ticket = mp->spinning = spinning;
      leave_next_p(mp, pp);
    } else if (sched.settling != 0 || (mp = take_waiting_thread(pp, free_cpu)) == nullptr) {
      if (sched.settling == 0) move_to_global(pp);
      idle_put_p(pp);
    }
    // [order] relaxed: as above
    if (mp == nullptr && sched.settling == 0 && !sched.ended.load(relaxed)) {
      request_thread();
      if (something_is_due() && nobody_will_come()) thread_limit_reached();
    }
    if (spinning && !with_ticket) sched.idle.remove_spinning();
  }
  if (mp == nullptr) return;
  if (polls)
    poller.break_wait();
  else
    mp->park_note.wake();
  if (spinning && !with_ticket) wake_p();            // that thread looks for nothing
}

void begin_settling(machine* mp) noexcept {
  mp->settling = true;
  ++sched.settling;
}

bool end_settling(machine* mp) noexcept {
  if (!mp->settling) return false;
  mp->settling = false;
  --sched.settling;
  if (sched.ps_for_settling == 0) return false;
  --sched.ps_for_settling;
  return true;
}

void hand_off_p(processor* pp, std::int32_t free_cpu) noexcept {
  if (!pp->queue.empty() || sched.global.size() != 0) {
    start_m(pp, false, free_cpu);
    return;
  }
  bool start = false, spinning = false;
  {
    locked hold(sched.lock);
    if (sched.stopping.load(relaxed)) return count_stopped(pp);   // [order] relaxed: under the lock
    // The only P awake, nobody looks: somebody must, for the timers and for what comes in from outside.
    const idle_word::counts c = sched.idle.look();
    if (sched.global.size() != 0)
      start = true;
    else if (c.bits == 0)
      start = spinning = true;
    else
      idle_put_p(pp);
  }
  if (!start) {
    wake_poller(pp->timers.earliest());
    heavy_barrier();                                 // as in give_up_p: the P counts as idle, now look again
    // [order] relaxed: who is about to leave the poller looks for an idle P
    const bool unwatched = pp->timers.earliest() != os::forever && !sched.polling.load(relaxed);
    // At the limit of threads a P may lie idle with work, for the Ms of the others; and this was the last.
    const bool all_idle = sched.idle.look().idle_processors() == sched.maxprocs.load(relaxed);
    if (!pp->queue.empty() || sched.global.size() != 0 || unwatched) wake_p();
    else if (all_idle && somebody_has_work()) wake_p();
    return;
  }
  if (spinning) sched.idle.add_spinning();
  start_m(pp, spinning, free_cpu);
}

void count_stopped(processor* pp) noexcept {
  pp->status.store(p_status::stopped, relaxed);      // [order] relaxed: under the lock
  if (--sched.stop_wait == 0) sched.stop_note.wake();
}

// Those whose queues are not empty come first, each in its turn: Ms that took the last one would serve the
// same one again and again.
processor* idle_get_p() noexcept {
  processor* pp = sched.waiting_ps.pop_front();
  if (pp == nullptr) pp = sched.idle_ps.pop();
  if (pp != nullptr) {
    pp->status.store(p_status::running, relaxed);    // on its way to an M. [order] relaxed: under the lock
    sched.idle.remove_idle_processor();
    wake_sysmon();
  }
  return pp;
}

void idle_put_p(processor* pp) noexcept {
  if (sched.stopping.load(relaxed)) return count_stopped(pp);     // [order] relaxed: under the lock
  pp->status.store(p_status::idle, relaxed);
  if (pp->queue.empty())
    sched.idle_ps.push(pp);
  else
    sched.waiting_ps.push_back(pp);
  sched.idle.add_idle_processor();
}

void submit_global(goroutine* gp) noexcept {
  {
    locked hold(sched.lock);
    sched.global.push_back(gp);
  }
  wake_p();
}

void submit_global(goroutine_list&& list) noexcept {
  if (list.empty()) return;
  const std::size_t n = list.size();
  {
    locked hold(sched.lock);
    while (goroutine* gp = list.pop_front()) sched.global.push_back(gp);
  }
  for (std::size_t i = 0; i < n && i < 2; ++i) wake_p();   // one spinner wakes the next
}

}  // namespace weft::inline v0::rt
