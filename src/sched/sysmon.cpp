// sysmon.cpp — the thread that looks after the others. It only decides, the helper acts.
//
// It sleeps 20 us; after 50 rounds without anything to do the sleep doubles each round up to 10 ms (Go's
// schedule). When all Ps have been idle for a while it sleeps until one is taken from the idle list, or 5 s
// at a time while the helper has stacks to trim.
//
//   each round   the coarse clock; a P whose slice is over (10 ms); a run_next that waits beside an idle P;
//                an overdue timer
//   sometimes    schedtrace, the number of CPUs (1 s), the scavenger (100 ms): wakes the helper
#include <algorithm>

#include "os/os.hpp"
#include "sched/threads.hpp"

namespace weft::inline v0::rt {
namespace {

constexpr std::int64_t us = 1'000, ms = 1'000'000, s = 1'000'000'000;
constexpr std::int64_t sleep_min = 20 * us, sleep_max = 10 * ms;
constexpr int idle_rounds_before_backoff = 50;
constexpr int all_idle_rounds_before_deep_sleep = 150;   // 1.5 s: free stacks are given back after 0.5 s
constexpr std::int64_t slice = 10 * ms;
constexpr std::int64_t scavenge_period = 100 * ms, scavenge_period_busy = 20 * ms;  // while something is left

note sysmon_note;
atomic<bool> in_deep_sleep{false};

struct sysmon_state {
  std::int64_t delay = sleep_min;
  int idle_rounds = 0;
  int all_idle_rounds = 0;
  std::int64_t last_trace = 0, last_procs = 0, last_scavenge = 0;
};

void end_slice(processor* pp) noexcept {
  pp->attention.fetch_or(attend_slice, release);     // [order] release: pairs with attend()
  if (machine* mp = pp->mp.load(relaxed)) mp->mark.store(1, relaxed);   // [order] relaxed: a request
}

// True when it did something.
bool look_at(processor* pp, std::int64_t now) noexcept {
  if (pp->status.load(relaxed) != p_status::running) return false;   // [order] relaxed: a hint
  const std::uint32_t tick = pp->schedtick, switches = pp->switches;
  const bool stood_still = switches == pp->seen_switches;
  pp->seen_switches = switches;
  if (tick != pp->seen_tick) {
    pp->seen_tick = tick;
    pp->seen_when = now;
  }
  if (stood_still && pp->queue.has_next() && sched.idle.look().needs_waker()) {
    sched.futile_wakes.store(0, relaxed);            // [order] relaxed: a heuristic
    wake_p_slow();
    return true;
  }
  // Work elsewhere counts: in the ring of a P whose goroutine cannot be made to leave it, say. Who comes to
  // the end of a slice takes from there (fetch_for_slice).
  if (now - pp->seen_when < slice || !somebody_has_work()) return false;
  pp->seen_when = now;
  end_slice(pp);
  return true;
}

bool look_at_all(std::int64_t now) noexcept {
  bool did = false;
  bool overdue = false;
  const std::uint32_t n = sched.maxprocs.load(acquire);   // [order] acquire: so many have been built
  for (std::uint32_t i = 0; i < n; ++i) {
    processor* pp = &sched.processors[i];
    did |= look_at(pp, now);
    overdue |= pp->timers.earliest() <= now;
  }
  if (overdue && !sched.polling.load(relaxed)) wake_p();   // [order] relaxed: seen a round later at worst
  return did;
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
}

bool all_idle() noexcept {
  // [order] relaxed: seen a round later at worst; before a deep sleep the barrier pair orders it
  return !sched.running.load(relaxed) || sched.idle.look().idle_processors() == sched.maxprocs.load(relaxed);
}

// Nothing runs: sleep until an idle P is taken. Dekker with wake_sysmon(): flag, heavy barrier, look again.
// False: nobody has taken one, but the helper wants its turn.
bool deep_sleep() noexcept {
  in_deep_sleep.store(true, relaxed);                // [order] relaxed: ordered by the barrier pair
  heavy_barrier();
  // [order] relaxed: set by the helper long ago
  const bool nap = services.trim_later.load(relaxed);
  const bool woken = !all_idle() || sysmon_note.sleep(nap ? os::nanotime() + 5 * s : os::forever);
  in_deep_sleep.store(false, relaxed);               // [order] relaxed: a wake too many does no harm
  if (woken) sysmon_note.clear();
  return woken;
}

void rest(sysmon_state& m) noexcept {
  // [order] relaxed: hints, seen a round later at worst
  const bool tracing = current_settings().schedtrace_ms > 0 && sched.running.load(relaxed);
  m.all_idle_rounds = all_idle() ? m.all_idle_rounds + 1 : 0;
  if (m.all_idle_rounds > all_idle_rounds_before_deep_sleep && m.delay == sleep_max && !tracing &&
      !services.scavenge_left.load(relaxed)) {
    if (!deep_sleep()) return;
    m.all_idle_rounds = 0;
    m.idle_rounds = 0;
    m.delay = sleep_min;
    return;
  }
  os::sleep_ns(m.delay);
}

}  // namespace

void sysmon_main(void*) noexcept {
  adopt_service_thread();
  os::set_timer_slack(1);
  sysmon_state m;
  for (;;) {
    rest(m);
    const std::int64_t now = os::nanotime();
    sched.coarse_now.store(now, relaxed);            // [order] relaxed: a coarse clock
    bool did = false;
    if (sched.running.load(acquire)) {               // [order] acquire: pairs with begin_world()
      inside in;
      did = look_at_all(now);
    }
    look_at_clock(m, now);
    m.idle_rounds = did ? 0 : m.idle_rounds + 1;
    if (did)
      m.delay = sleep_min;
    else if (m.idle_rounds > idle_rounds_before_backoff)
      m.delay = std::min(m.delay * 2, sleep_max);
  }
}

void wake_sysmon() noexcept {
  light_barrier();                                   // the P was taken from the idle list before
  if (in_deep_sleep.load(relaxed)) sysmon_note.wake();   // [order] relaxed: ordered by the barrier pair
}

}  // namespace weft::inline v0::rt
