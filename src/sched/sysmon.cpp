// sysmon.cpp — the thread that looks after the others. It only decides, the helper acts.
//
// It sleeps 20 us; after 50 rounds without anything to do the sleep doubles each round up to 10 ms (Go's
// schedule), but no longer than until something is known to be due: the end of a slice, a timer. When all Ps
// have been idle for a while it sleeps until one is taken from the idle list, or 5 s at a time while the
// helper has stacks to trim or there are too many idle Ms. While no P has time for the poller it sleeps there
// (standby.cpp).
//
//   each round   the coarse clock; a P whose M is blocked in foreign code (retake.cpp); a run_next that waits
//                beside an idle P; a P whose slice is over (preempt.cpp); an overdue timer; threads that run
//                without a P (strays.cpp); whether anything is scheduled at all (watchdog.cpp)
//   sometimes    schedtrace, the number of CPUs (1 s), the scavenger (100 ms): wakes the helper; Ms that
//                nobody has needed for long (1 s); before a deep sleep, whether all goroutines are asleep
#include <algorithm>

#include "os/os.hpp"
#include "sched/let_go.hpp"
#include "sched/preempt.hpp"
#include "sched/threads.hpp"

namespace weft::inline v0::rt {
namespace {

constexpr std::int64_t us = 1'000, ms = 1'000'000, s = 1'000'000'000;
constexpr std::int64_t sleep_min = 20 * us, sleep_max = 10 * ms;
constexpr std::int64_t restless = 20 * ms;           // after it has taken a P: who gets it may block at once
constexpr int idle_rounds_before_backoff = 50;
constexpr std::int64_t all_idle_before_deep_sleep = 1'500 * ms;   // free stacks are given back after 0.5 s
constexpr std::int64_t scavenge_period = 100 * ms, scavenge_period_busy = 20 * ms;  // while something is left

note sysmon_note;
atomic<bool> in_deep_sleep{false};
atomic<bool> looking{false};                         // may have a P in hand (take_for_good), or a ticket

struct sysmon_state {
  std::int64_t delay = sleep_min;
  int idle_rounds = 0;
  std::int64_t all_idle_since = os::forever;
  std::int64_t last_taken = 0;                       // a P, from an M that was blocked or did not stop
  std::int64_t next_look = os::forever;              // when something is known to be due: it sleeps no longer
  std::int64_t last_trace = 0, last_procs = 0, last_scavenge = 0, last_machines = 0;
  std::int64_t machines_due = os::forever;           // when some may have to end
  bool stood_by = false;                             // in the poller, before this round
  ready_batch woken;                                 // by the kernel, there
};

// True when it did something.
bool look_at(processor* pp, std::int64_t now, sysmon_state& m) noexcept {
  if (pp->status.load(relaxed) != p_status::running) {   // [order] relaxed: a hint
    pp->seen_m = nullptr;
    return false;
  }
  const bool stands = meet_again(pp, now);
  const retaken r = stands ? retake(pp, now) : retaken::no;
  if (r == retaken::yes) {
    m.last_taken = now;
    return true;
  }
  if (r == retaken::look_again) m.next_look = now;
  const std::uint32_t switches = pp->switches;
  const bool stood_still = switches == pp->seen_switches;
  pp->seen_switches = switches;
  if (stood_still && pp->queue.has_next() && sched.idle.look().needs_waker()) {
    sched.futile_wakes.store(0, relaxed);            // [order] relaxed: a heuristic
    wake_p_slow();
    return true;
  }
  // Who is inside now may be on its way to another goroutine, or just have got the P.
  const bool calls = stood_still && pp->seen_m != nullptr;
  const progress made = stands ? progress::none : calls ? progress::calls : progress::switches;
  const outcome slice = preempt(pp, now, made);
  m.next_look = std::min(m.next_look, slice.next_look);
  if (slice.took) m.last_taken = now;
  return slice.did;
}

bool look_at_all(sysmon_state& m, std::int64_t now) noexcept {
  bool did = look_at_template(now), overdue = false;
  m.next_look = look_at_strays(now);
  // [order] relaxed: a hint. Whether the template thread is blocked is to be seen soon
  if (services.creating.load(relaxed) != 0) m.next_look = std::min(m.next_look, now + 1 * ms);
  const bool unwatched = !sched.polling.load(relaxed);    // [order] relaxed: seen a round later at worst
  const std::uint32_t n = sched.maxprocs.load(acquire);   // [order] acquire: so many have been built
  for (std::uint32_t i = 0; i < n; ++i) {
    processor* pp = &sched.processors[i];
    did |= look_at(pp, now, m);
    overdue |= unwatched && pp->timers.earliest() <= now && pp->timers.earliest_live() <= now;
  }
  // [order] relaxed, as above
  if (overdue || sched.only_strays_come.exchange(false, relaxed)) wake_p();
  if (exiting.load(relaxed)) did |= let_go_stopped();      // [order] relaxed: seen a round later at worst
  return did | watch(now);
}

void look_at_clock(sysmon_state& m, std::int64_t now) noexcept {
  const settings& c = current_settings();
  std::uint32_t work = 0;
  if (c.schedtrace_ms > 0 && now - m.last_trace >= c.schedtrace_ms * ms) {
    m.last_trace = now;
    work |= helper_trace;
  }
  if (now - m.last_procs >= s && services.follow_procs.load(relaxed)) {   // [order] relaxed: a setting
    m.last_procs = now;
    work |= helper_procs;
  }
  const bool left = services.scavenge_left.load(relaxed);   // [order] relaxed: seen a round later at worst
  if (now - m.last_scavenge >= (left ? scavenge_period_busy : scavenge_period)) {
    m.last_scavenge = now;
    work |= helper_scavenge;
  }
  if (work != 0) wake_helper(work);
  if (now - m.last_machines >= s || now >= m.machines_due) {
    m.last_machines = now;
    m.machines_due = end_idle_machines(now);
  }
}

// No P runs, and none is idle only for want of a thread: nor one with a timer that nobody waits for.
bool all_idle() noexcept {
  // [order] relaxed: seen a round later at worst; before a deep sleep the barrier pair orders it
  if (!sched.running.load(relaxed)) return true;
  if (sched.idle.look().idle_processors() != sched.maxprocs.load(relaxed)) return false;
  if (!sched.polling.load(relaxed) && earliest_timer() != os::forever) return false;
  locked hold(sched.lock);
  return sched.threads_coming == 0 && !sched.only_strays_come.load(relaxed);
}

// Nothing runs: sleep until an idle P is taken. Dekker with wake_sysmon(): flag, heavy barrier, look again.
// False: nobody has taken one, but the helper wants its turn, or Ms have to end.
bool deep_sleep(sysmon_state& m) noexcept {
  in_deep_sleep.store(true, relaxed);                // [order] relaxed: ordered by the barrier pair
  heavy_barrier();
  // [order] relaxed: set by the helper long ago
  const bool nap = services.trim_later.load(relaxed);
  if (all_idle()) look_for_deadlock();
  const std::int64_t now = os::nanotime();
  m.machines_due = end_idle_machines(now);           // what goes idle later has taken a P before
  const std::int64_t until = std::min(nap ? now + 5 * s : os::forever, m.machines_due);
  const bool woken = !all_idle() || sysmon_note.sleep(until);
  in_deep_sleep.store(false, relaxed);               // [order] relaxed: a wake too many does no harm
  if (woken) sysmon_note.clear();
  return woken;
}

void rest(sysmon_state& m) noexcept {
  // [order] relaxed: hints, seen a round later at worst
  const bool tracing = current_settings().schedtrace_ms > 0 && sched.running.load(relaxed);
  const std::int64_t now = os::nanotime();
  m.all_idle_since = all_idle() ? std::min(m.all_idle_since, now) : os::forever;
  if (now - m.all_idle_since > all_idle_before_deep_sleep && m.delay == sleep_max && !tracing &&
      !services.scavenge_left.load(relaxed)) {
    if (!deep_sleep(m)) return;
    m.all_idle_since = os::forever;
    m.idle_rounds = 0;
    m.delay = sleep_min;
    return;
  }
  const std::int64_t until_look = m.next_look == os::forever ? m.delay : m.next_look - now;
  const std::int64_t nap = std::min(m.delay, std::max(until_look, sleep_min));
  m.stood_by = stand_by(now, now + nap, m.woken);
  if (!m.stood_by) os::sleep_ns(nap);
}

// What it has found for others. An M that has become idle meanwhile has found it in the poller, and left it
// to us: now it shall wait there.
bool hand_out(sysmon_state& m) noexcept {
  const bool found = !m.woken.empty();
  ready_all(m.woken);
  // [order] relaxed: who goes idle from now on looks for himself
  const bool unwatched =
      m.stood_by && sched.idle.look().idle_processors() != 0 && !sched.polling.load(relaxed);
  if (unwatched && (poller.has_waiters() || earliest_timer() != os::forever)) wake_p();
  return found;
}

void drop(ready_batch& woken) noexcept {             // their world is over
  while (woken.pop() != nullptr) {}
}

}  // namespace

void sysmon_main(void*) noexcept {
  adopt_service_thread();
  os::set_timer_slack(1);
  os::ask_for_short_slice(100 * us);
  sysmon_state m;
  for (;;) {
    rest(m);
    const std::int64_t now = os::nanotime();
    sched.coarse_now.store(now, relaxed);            // [order] relaxed: a coarse clock
    bool did = false;
    m.next_look = os::forever;
    // [order] seq_cst: pairs with end_main() and settle_all(); acquire: with begin_world(). release: the P in
    // hand is where it belongs
    looking.store(true, seq_cst);
    if (sched.running.load(acquire) && !sched.ended.load(seq_cst)) {
      inside in;
      did = hand_out(m);
      did |= look_at_all(m, now);
    }
    drop(m.woken);
    looking.store(false, release);                   // [order] as above
    look_at_clock(m, now);
    m.idle_rounds = did ? 0 : m.idle_rounds + 1;
    if (did || now - m.last_taken < restless)
      m.delay = sleep_min;
    else if (m.idle_rounds > idle_rounds_before_backoff)
      m.delay = std::min(m.delay * 2, sleep_max);
  }
}

bool sysmon_looks() noexcept { return looking.load(seq_cst); }

void wake_sysmon() noexcept {
  light_barrier();                                   // the P was taken from the idle list before
  if (in_deep_sleep.load(relaxed)) sysmon_note.wake();   // [order] relaxed: ordered by the barrier pair
}

}  // namespace weft::inline v0::rt
