// find_runnable.cpp — where the next goroutine comes from. The heart of the scheduler.
//
//   take_next       on any stack: run_next, then the ring. A dozen instructions.
//   quick_look      the same on a parking goroutine's stack: a fresh one gets a stack
//   find_runnable   on g0, in Go's order:
//       1 the world stops, a safe-point function, a slice's end     6 the netpoller, without waiting
//       2 what the quick look had in hand                           7 steal (steal.cpp), as a spinner
//       3 our own expired timers                                    8 give the P up, look at everything again
//       4 every 61st slice: one from the global queue;              9 sleep in the poller, until a timer
//       5 run_next, the ring, a batch from the global queue        10 sleep in the idle list
//
// Called by an M with a P (or without one, after a stop: it then sleeps until it gets one). Its thread may
// find in its sleep that nobody needs it any more: then there is no goroutine (threads.cpp). Step 8 is one
// half of the race between going to sleep and submitting work, the other is wake_p(). Proof: docs/parking.md.
#include <algorithm>

#include "os/os.hpp"
#include "sched/sched.hpp"

namespace weft::inline v0::rt {
namespace {

constexpr std::uint32_t global_period = 61;          // Go's: one look at the global queue in so many slices
constexpr std::uint32_t clock_period = 8;            // a P with timers reads the clock every so many switches
constexpr std::uint32_t global_batch_max = stealable_queue::capacity / 2;

// What somebody asked this P to do at its next scheduling point. True: start over.
bool attend(machine* mp) noexcept {
  processor* pp = mp->pp;
  const std::uint32_t wanted = pp->attention.load(acquire);   // [order] acquire: pairs with who set the bit
  if (wanted & attend_stop) {
    park_stopped_p(mp);
    return true;
  }
  if (wanted & attend_safe_point) run_safe_point(pp);
  if (wanted & attend_slice) {
    // The slice is over along a chain of run_next hand-offs: the next G comes from the ring.
    pp->attention.fetch_and(~std::uint32_t{attend_slice}, relaxed);   // [order] relaxed: seen above, answered
    if (pp->queue.has_next())
      if (run_queue::taken t = pp->queue.get(); t.gp != nullptr) {
        put_local(pp, t.gp);
        wake_p();
      }
    fetch_for_slice(mp);
    ++pp->schedtick;
  }
  return false;
}

// ---- the global queue: a batch leaves it under the lock, and enters our ring after it ----

struct global_batch {
  std::uint32_t count = 0;
  goroutine* gs[global_batch_max];
};

// For threads in the queue, which wake best where they stood; negative: it does not matter, since there are
// none, or idle CPUs. A system call: before the lock.
std::int32_t cpu_that_counts() noexcept {
  // [order] relaxed: it cannot change while we have a P
  const auto procs = static_cast<int>(sched.maxprocs.load(relaxed));
  if (sched.global.threads() == 0 || procs < os::cpus_at_first()) return -1;
  return sched.idle.look().idle_processors() == 0 ? os::current_cpu() : -1;
}

// Under lock. `again`: if there is none to be had now, the caller looks here once more before he is idle.
void take_global(global_batch& batch, std::uint32_t max, std::int32_t cpu, bool again) noexcept {
  const std::uint32_t size = sched.global.size();
  // [order] relaxed: it cannot change while we have a P
  const std::uint32_t n = std::min({max, size, size / sched.maxprocs.load(relaxed) + 1});
  batch.count = sched.global.take(batch.gs, n, cpu, again);
}

// The first is for us to run. Until the others are in the ring nobody sees them, nor did anybody see what a
// turn's end has moved (end_turn): so look for sleepers then.
goroutine* admit(processor* pp, const global_batch& batch) noexcept {
  if (batch.count == 0) return nullptr;
  constexpr std::uint32_t ahead = 12;                // blocks lie anywhere: fetched before they are looked at
  for (std::uint32_t i = 1; i < batch.count; ++i) {
    if (i + ahead < batch.count) __builtin_prefetch(batch.gs[i + ahead]);
    prefetch_start(batch.gs[i]);
    put_local(pp, batch.gs[i]);
  }
  if (batch.count > 1 || sched.global.size() != 0) wake_p();
  return batch.gs[0];
}

goroutine* get_global(processor* pp, std::uint32_t max) noexcept {
  if (sched.global.size() == 0) return nullptr;
  const std::int32_t cpu = cpu_that_counts();
  global_batch batch;
  {
    locked hold(sched.lock);
    take_global(batch, max, cpu, true);
  }
  return admit(pp, batch);
}

// A turn of the ring in which somebody yielded is over: what has come into it since goes behind the global
// queue, and a batch of that comes in.
bool turn_is_over(processor* pp) noexcept {
  return pp->turn_yields != 0 && pp->queue.head_has_reached(pp->turn_end);
}

goroutine* end_turn(processor* pp) noexcept {
  pp->turn_yields = 0;
  goroutine* ring[run_queue::capacity];
  const std::uint32_t n = pp->queue.drain_ring(ring);
  const std::int32_t cpu = cpu_that_counts();
  global_batch batch;
  {
    locked hold(sched.lock);
    sched.global.push_back(ring, n);
    take_global(batch, global_batch_max, cpu, false);
  }
  return admit(pp, batch);
}

// An M may spin while less than half of the busy Ps' number do (Go's rule).
bool may_spin(machine* mp) noexcept {
  if (mp->spinning) return true;
  const idle_word::counts c = sched.idle.look();
  // [order] relaxed: a heuristic
  const std::uint32_t busy = sched.maxprocs.load(relaxed) - c.idle_processors();
  return 2 * c.spinning() < busy;
}

void start_spinning(machine* mp) noexcept {
  if (mp->spinning) return;
  mp->spinning = true;
  sched.idle.add_spinning();
}

bool take_idle_p(machine* mp) noexcept {
  locked hold(sched.lock);
  processor* pp = idle_get_p();
  if (pp == nullptr) return false;
  end_settling(mp);                                  // whatever a P was left there for: we look for it
  acquire_p_as_spinner(mp, pp);
  return true;
}

// Step 8. True: go on looking (with a P again, or because the world stops). False: no P and nothing to do.
bool give_up_p(machine* mp, runnable& found) noexcept {
  processor* pp = mp->pp;
  const std::int32_t cpu = cpu_that_counts();
  global_batch batch;
  {
    locked hold(sched.lock);
    if (pp->attention.load(relaxed) & attend_stop) return true;        // [order] relaxed: set under the lock
    take_global(batch, global_batch_max, cpu, false);
    if (batch.count == 0) {
      release_p(mp);
      idle_put_p(pp);
      begin_settling(mp);
    }
  }
  if ((found.gp = admit(pp, batch)) != nullptr) return true;
  const bool was_spinning = stop_spinning(mp);
  heavy_barrier();                                   // we are out of the counts: now look at everything again
  if (somebody_has_work() && take_idle_p(mp)) return true;
  if (was_spinning) note_futile_spin();
  return false;
}

// Under lock. Who goes idle later sees that nobody polls; who went earlier has left his P to us.
void end_polling() noexcept {
  // [order] release: the next poller finds poll_until put back
  sched.poll_until.store(os::forever, relaxed);
  sched.polling.store(false, release);
}

// False: it shall not wait, it has a P.
bool enter_poller(machine* mp) noexcept {
  locked hold(sched.lock);
  processor* pp = end_settling(mp) ? idle_get_p() : nullptr;
  if (pp == nullptr) {
    sched.poller_m = mp;
    return true;
  }
  end_polling();
  acquire_p_as_spinner(mp, pp);
  return false;
}

// With the P that a waker has left, or an idle one, or none.
void leave_poller(machine* mp) noexcept {
  locked hold(sched.lock);
  end_polling();
  const bool named = sched.poller_m != mp;           // start_m has taken the name out
  if (!named) sched.poller_m = nullptr;
  if (processor* pp = named ? take_next_p(mp) : idle_get_p())
    acquire_p_as_spinner(mp, pp);
  else
    begin_settling(mp);
}

// Step 9. True: start over, with or without a P.
bool wait_in_poller(machine* mp, runnable& found) noexcept {
  std::int64_t until = earliest_timer();
  if (until == os::forever && !poller.has_waiters()) return false;
  if (sched.polling.exchange(true, acq_rel)) {       // [order] acq_rel: one poller at a time
    wake_poller(until);                              // it may sleep longer than we know is right
    return false;
  }
  // After the exchange: the last poller may have taken the end's break_wait(). [order] as in find_runnable()
  if (sched.ended.load(acquire)) {
    sched.polling.store(false, release);             // [order] release: as in end_polling()
    return false;
  }
  sched.poll_until.store(until, relaxed);            // [order] relaxed: ordered by the barrier pair
  heavy_barrier();                                   // pairs with arm_timer(): arm, barrier, poll_until?
  until = std::min(until, earliest_timer());
  ready_batch batch;
  if (enter_poller(mp)) {
    poller.wait(until, batch);
    leave_poller(mp);
  }
  sched.coarse_now.store(os::nanotime(), relaxed);   // [order] relaxed: a coarse clock
  if (mp->pp == nullptr) {
    goroutine_list list;
    while (goroutine* gp = batch.pop()) list.push_back(gp);
    submit_global(static_cast<goroutine_list&&>(list));
    return false;
  }
  if (goroutine* gp = batch.pop()) {
    ready_all(batch);
    found = {gp, false};
  }
  return true;
}

// schedule() asks (must_stay_free), once in a while.
bool asks_before_it_begins(machine* mp, const goroutine* gp) noexcept {
  if (gp->is_started() || !sched.has_long_ones()) return false;
  if (mp->begins_left == 0) return true;
  --mp->begins_left;
  return false;
}

}  // namespace

bool somebody_has_work() noexcept {
  if (sched.global.size() != 0) return true;
  const std::uint32_t n = sched.maxprocs.load(acquire);   // [order] acquire: so many have been built
  for (std::uint32_t i = 0; i < n; ++i)
    if (!sched.processors[i].queue.empty()) return true;
  return false;
}

// Only the owner's side of owner structures, and only a plain G: the rest is g0's.
goroutine* take_next(machine* mp) noexcept {
  processor* pp = mp->pp;
  // [order] relaxed: only whether; g0 looks again, with acquire
  if (pp->attention.load(relaxed) != 0 || mp->locked_gp != nullptr) [[unlikely]] return nullptr;
  const std::uint32_t tick = pp->switches;
  if (pp->schedtick % global_period == global_period - 1 && sched.global.size() != 0) [[unlikely]]
    return nullptr;
  if (turn_is_over(pp)) [[unlikely]] return nullptr;
  if (pp->timers.earliest() != os::forever && tick % clock_period == 0) [[unlikely]] {
    if (watch_timers(pp)) return nullptr;
  }
  const run_queue::taken next = pp->queue.get();
  if (next.gp == nullptr) return nullptr;
  if (!next.inherits_slice) ++pp->schedtick;
  if (next.gp->bound != nullptr || asks_before_it_begins(mp, next.gp)) [[unlikely]] {
    mp->picked = next.gp;
    return nullptr;
  }
  return next.gp;
}

goroutine* quick_look(machine* mp) noexcept {
  goroutine* gp = take_next(mp);
  if (gp == nullptr || gp->is_started() || give_stack(mp->pp, gp)) [[likely]] return gp;
  mp->picked = gp;
  return nullptr;
}

runnable find_runnable(machine* mp) noexcept {
  for (;;) {
    if (sched.ended.load(acquire)) [[unlikely]] {    // [order] acquire: pairs with end_world()
      if (mp->thread_ends) return {nullptr, false};
      leave_world(mp);
      continue;
    }
    if (mp->pp == nullptr) {
      if (mp->thread_ends) return {nullptr, false};
      stop_m(mp);
      continue;
    }
    processor* pp = mp->pp;
    // [order] relaxed: attend() looks again, with acquire
    if (pp->attention.load(relaxed) != 0 && attend(mp)) [[unlikely]] continue;
    if (goroutine* gp = mp->picked) {
      mp->picked = nullptr;
      return {gp, true};                             // take_next() has counted its slice, if it begins one
    }
    std::int64_t now = 0;
    if (pp->timers.earliest() != os::forever) {
      now = os::nanotime();
      run_timers(pp, now);
    }
    if (pp->schedtick % global_period == global_period - 1)
      if (goroutine* gp = get_global(pp, 1)) return {gp, false};
    if (turn_is_over(pp) && !pp->queue.has_next())
      if (goroutine* gp = end_turn(pp)) return {gp, false};
    if (run_queue::taken t = pp->queue.get(); t.gp != nullptr) return {t.gp, t.inherits_slice};
    if (goroutine* gp = get_global(pp, global_batch_max)) return {gp, false};
    if (poller.has_waiters()) {
      ++pp->polls;
      ready_batch batch;
      poller.look(batch);
      if (goroutine* gp = batch.pop()) {
        ready_all(batch);
        return {gp, false};
      }
    }
    if (may_spin(mp)) {
      start_spinning(mp);
      const stolen s = steal_work(mp, now);
      if (s.gp != nullptr) return {s.gp, s.inherits_slice};
      if (s.look_again) continue;
    }
    runnable found{nullptr, false};
    if (give_up_p(mp, found)) {
      if (found.gp != nullptr) return found;
      continue;
    }
    if (wait_in_poller(mp, found)) {
      if (found.gp != nullptr) return found;
      continue;
    }
    // [order] relaxed: looked at again above
    if (mp->pp == nullptr && !sched.ended.load(relaxed)) stop_m(mp);
  }
}

}  // namespace weft::inline v0::rt
