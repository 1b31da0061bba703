// schedule.cpp — the loop of an M on its own stack (g0): find a goroutine, run it until it comes back.
//
//   schedule ──> find_runnable ──> execute ──(switch)──> goroutine ... parks, yields or ends
//      ^                                                        │
//      └─────────────── only when the quick look found nothing ─┘   (else goroutine to goroutine, switch.cpp)
#include "os/os.hpp"
#include "sched/sched.hpp"

namespace weft::inline v0::rt {

namespace {

// The thread goes: a locked goroutine has ended here; or it has lain idle for long, then it has no P.
void retire(machine* mp) noexcept {
  mp->locked_gp = nullptr;
  sanitizer::hb_acquire(mp);                         // the thread's destructors come after what it did
  {
    locked hold(sched.lock);
    ++sched.threads_ending;                          // before the P goes: that may ask for a thread instead
  }
  if (mp->pp == nullptr) return;
  if (mp->picked != nullptr) put_local(mp->pp, mp->picked);
  mp->picked = nullptr;
  // A slice of those who wait ends with the thread: or goroutines that start such threads and wait for them
  // would hand the P to each other by run_next, a thread each, and sysmon would see it idle in between.
  mp->pp->attention.fetch_or(attend_slice, relaxed); // [order] relaxed: the lock publishes it
  hand_off_p(release_p(mp));
}

}  // namespace

void schedule(machine* mp) noexcept {
  for (;;) {
    if (mp->thread_ends) {
      retire(mp);
      return;
    }
    if (mp->locked_gp != nullptr) {
      stop_locked_m(mp);   // comes back with a P and locked_gp to run, or the world has ended
      if (mp->locked_gp != nullptr && mp->pp != nullptr) execute(mp, mp->locked_gp);
      if (mp->locked_gp != nullptr || mp->pp != nullptr) continue;
    }
    const runnable next = find_runnable(mp);
    if (next.gp == nullptr) continue;                // the thread ends
    if (mp->spinning) reset_spinning(mp);
    // For one that is bound elsewhere too: or the 61st slice would be the next one's again, and for ever.
    if (!next.inherits_slice) begin_slice(mp->pp);
    if (next.gp->bound != nullptr && next.gp->bound != mp) {
      start_locked_m(mp, next.gp);
      continue;
    }
    if (!next.gp->is_started() && must_stay_free(mp)) {
      pass_over(next.gp);
      continue;
    }
    execute(mp, next.gp);
  }
}

void acquire_p(machine* mp, processor* pp) noexcept {
  // [order] relaxed: the P is ours; others (dumps, sysmon, stops) check what they see otherwise
  WEFT_CHECK(mp->pp == nullptr && pp->mp.load(relaxed) == nullptr);
  mp->pp = pp;
  mp->begins_left = mp->passed_over = 0;             // who is free has changed (must_stay_free)
  mp->holds_back_since = 0;
  pp->mp.store(mp, relaxed);
  pp->status.store(p_status::running, relaxed);
  mp->lease.hold(pp->id);
  if (pp->attention.load(relaxed) != 0) mp->mark.store(1, relaxed);   // [order] relaxed: our own word
  emit(event::processor_start, pp->id);
}

void acquire_p_as_spinner(machine* mp, processor* pp) noexcept {
  acquire_p(mp, pp);
  if (mp->spinning) return;                          // with a waker's ticket
  mp->spinning = true;
  sched.idle.add_spinning();
}

processor* release_p(machine* mp) noexcept {
  processor* pp = mp->pp;
  WEFT_CHECK(pp != nullptr);
  mp->pp = nullptr;
  mp->lease.drop();
  // Its status is for whoever gets it to say. [order] relaxed: as in acquire_p
  pp->mp.store(nullptr, relaxed);
  emit(event::processor_stop, pp->id);
  return pp;
}

void stop_m(machine* mp, bool p_comes_back) noexcept {
  WEFT_CHECK(mp->pp == nullptr && !mp->spinning);
  {
    locked hold(sched.lock);
    if (processor* pp = end_settling(mp) ? idle_get_p() : nullptr) {
      acquire_p_as_spinner(mp, pp);
      return;
    }
    sched.idle_ms.push(mp);
    mp->on_idle_list = true;
    check_dead();
  }
  if (p_comes_back) wait_awhile_for_p(mp);
  processor* pp;
  do {
    mp->park_note.sleep();   // it may hold a wake from an earlier sleep: what counts is the P
    if ((pp = take_next_p(mp)) != nullptr) break;
    // [order] acquire: pairs with end_idle_machines()
    mp->thread_ends = mp->not_needed.load(acquire);
  } while (!mp->thread_ends);
  if (pp == nullptr) return;
  sched.coarse_now.store(os::nanotime(), relaxed);   // [order] relaxed: a coarse clock
  acquire_p(mp, pp);
}

void park_stopped_p(machine* mp) noexcept {
  stop_spinning(mp);
  {
    locked hold(sched.lock);
    if (!sched.stopping.load(relaxed)) return;   // started again meanwhile; [order] relaxed: under the lock
    count_stopped(release_p(mp));
    begin_settling(mp);                          // the world may start before we lie in the idle list
  }
  stop_m(mp);
}

}  // namespace weft::inline v0::rt
