// park.cpp — block, wake, yield: see park.hpp. docs/parking.md has the argument for the order of the steps.
#include "sched/park.hpp"

#include <algorithm>

#include "os/os.hpp"
#include "sched/sched.hpp"

namespace weft::inline v0::rt {
namespace {

// Without a world nobody looks at timers but the threads that may be waiting for one.
bool sleep_thread(note& n, std::int64_t deadline) noexcept {
  processor* pp = &sched.processors[0];
  for (;;) {
    const bool world = sched.running.load(acquire);  // [order] acquire: pairs with begin_world()
    const std::int64_t until = world ? deadline : std::min(deadline, pp->timers.earliest());
    if (n.sleep(until)) return true;
    if (until == deadline) return false;
    run_timers(pp, os::nanotime());
  }
}

// A foreign thread's goroutine is its thread: the commit publishes it, its note keeps a wake that comes too
// early. The waker takes it out of the count of parked threads, not the sleeper: woken and not yet running it
// is not asleep (deadlock.cpp).
bool park_thread(goroutine* gp, commit_fn commit, void* arg, std::int64_t deadline) noexcept {
  // With a deadline it wakes itself: it is not asleep for the deadlock detector.
  const bool for_ever = deadline == os::forever;
  gp->home->parked_for_ever = for_ever;
  if (for_ever) sched.threads_parked.fetch_add(1, acq_rel);   // [order] acq_rel: read by check_dead()
  commit(arg);
  if (for_ever && sched.running.load(relaxed)) look_for_deadlock();
  return sleep_thread(gp->home->park_note, deadline);
}

void wake_thread(goroutine* gp) noexcept {
  if (gp->home->parked_for_ever) sched.threads_parked.fetch_sub(1, acq_rel);   // [order] as above
  gp->home->park_note.wake();
}

void switch_away(machine* mp, goroutine* gp, commit_fn commit, void* arg) noexcept {
  mp->commit = commit;
  mp->commit_arg = arg;
  if (goroutine* next = quick_look(mp))
    switch_to(mp, gp, next);
  else
    switch_to_g0(mp, gp);
}

void commit_yield_local(void* arg) noexcept {
  machine* mp = this_machine();
  auto* gp = static_cast<goroutine*>(arg);
  gp->status.store(g_status::runnable, relaxed);     // [order] relaxed: published by the queue
  put_local(mp->pp, gp);
  wake_p();
}

// Nobody else was here: look whether another P has more than it runs now, or a goroutine there may wait for
// ever behind one that never switches.
void commit_yield_lone(void* arg) noexcept {
  machine* mp = this_machine();
  auto* gp = static_cast<goroutine*>(arg);
  gp->status.store(g_status::runnable, relaxed);     // [order] relaxed: published by the queue
  goroutine* other = steal_ring(mp);
  if (other != nullptr) put_local(mp->pp, other);
  put_local(mp->pp, gp);
  if (other != nullptr) wake_p();                    // what we took was in no queue for a moment
}

void commit_yield_global(void* arg) noexcept {
  auto* gp = static_cast<goroutine*>(arg);
  gp->status.store(g_status::runnable, relaxed);     // [order] relaxed: published by the lock
  submit_global(gp);
}

void commit_nothing(void*) noexcept {}

// [order] relaxed, both: for dumps; the helper reads the stamp after the status (trim.cpp)
void note_park(goroutine* gp, wait_reason reason) noexcept {
  constexpr std::int64_t counted = 0xffff;
  gp->reason.store(reason, relaxed);
  const std::int64_t parks = gp->waiting_since.load(relaxed) + 1;
  gp->waiting_since.store((sched.coarse_now.load(relaxed) & ~counted) | (parks & counted), relaxed);
}

}  // namespace

goroutine* current() noexcept {
  machine* mp = this_machine();
  return mp->current;
}

void park(wait_reason reason, commit_fn commit, void* arg) noexcept {
  machine* mp = this_machine();
  goroutine* gp = mp->current;
  note_park(gp, reason);
  gp->status.store(g_status::waiting, release);      // [order] release: of the stamp; the commit publishes it
  if (gp->is_thread) [[unlikely]] {
    park_thread(gp, commit, arg, os::forever);
    gp->status.store(g_status::running, relaxed);
  } else {
    emit(event::goroutine_block, gp->id, static_cast<std::uint64_t>(reason));
    switch_away(mp, gp, commit, arg);
  }
  sanitizer::hb_acquire(gp);
}

// No P, so no timer heap: the thread sleeps with a deadline, and claims the wait if that comes first.
void park_thread_until(wait_reason reason, commit_fn commit, void* arg, std::int64_t deadline) noexcept {
  goroutine* gp = current();
  note_park(gp, reason);
  gp->status.store(g_status::waiting, release);      // [order] as in park()
  if (!park_thread(gp, commit, arg, deadline)) {
    if (gp->wait.claim(wait_word::timed_out) == wait_word::claimed::lost)
      gp->home->park_note.sleep();                   // somebody else won: his ready() is on its way
  }
  gp->status.store(g_status::running, relaxed);      // [order] relaxed: ours again
  sanitizer::hb_acquire(gp);
}

void park_for_ever(wait_reason reason) noexcept {
  for (;;) park(reason, commit_nothing, nullptr);
}

// The ring is full: its older half goes to the global queue. Apart, for the size of its frame.
[[gnu::noinline]] static bool spill_local(processor* pp, goroutine* gp) noexcept {
  goroutine* half[run_queue::spilled];
  if (!pp->queue.spill(gp, half)) return false;      // a thief made room
  end_slice_for_timers(pp);
  locked hold(sched.lock);
  sched.global.push_back(half, run_queue::spilled);
  return true;
}

void put_local(processor* pp, goroutine* gp) noexcept {
  while (!pp->queue.put(gp))
    if (spill_local(pp, gp)) return;
}

void make_runnable(machine* mp, goroutine* gp, bool next) noexcept {
  gp->status.store(g_status::runnable, relaxed);     // [order] relaxed: published by the queue
  if (stays_with_trimmer(gp)) [[unlikely]] return;
  processor* pp = mp->pp;
  if (pp == nullptr) [[unlikely]] {
    submit_global(gp);
    return;
  }
  if (next) {
    gp = pp->queue.put_next(gp);
    if (gp == nullptr) {
      wake_for_next(pp);
      return;
    }
  }
  put_local(pp, gp);
  wake_p();
}

void ready(goroutine* gp) noexcept {
  sanitizer::hb_release(gp);
  if (gp->is_thread) [[unlikely]] {
    wake_thread(gp);
    return;
  }
  // [order] relaxed: written when no M ran; who comes from a later world has passed sched.lock since
  if (gp->status.load(relaxed) == g_status::abandoned) [[unlikely]] return;
  emit(event::goroutine_unblock, gp->id);
  make_runnable(this_machine(), gp, true);
}

void ready_all(ready_batch& batch) noexcept {
  machine* mp = this_machine();
  goroutine_list others;
  if (batch.is_single()) {
    ready(batch.pop());
    return;
  }
  while (goroutine* gp = batch.pop()) {
    sanitizer::hb_release(gp);
    if (gp->is_thread)
      wake_thread(gp);
    else if (gp->status.load(relaxed) != g_status::abandoned) {   // [order] relaxed: as in ready()
      emit(event::goroutine_unblock, gp->id);
      gp->status.store(g_status::runnable, relaxed);
      if (stays_with_trimmer(gp)) [[unlikely]] continue;
      if (mp->pp == nullptr) {
        others.push_back(gp);
      } else {
        prefetch_start(gp);
        put_local(mp->pp, gp);                       // in order: a batch has no favourite for run_next
      }
    }
  }
  if (mp->pp == nullptr)
    submit_global(static_cast<goroutine_list&&>(others));
  else
    wake_p();
}

void yield() noexcept {
  machine* mp = this_machine();
  goroutine* gp = mp->current;
  if (gp->is_thread) {
    os::yield_thread();
    return;
  }
  emit(event::goroutine_yield, gp->id);
  processor* pp = mp->pp;
  // Others wait in the global queue: we go behind them, but not one by one under its lock. The ring takes us,
  // and after its present turn it joins the global queue's tail as a whole (find_runnable.cpp, end_turn).
  if (sched.global.size() != 0 && pp->turn_yields++ == 0) pp->turn_end = pp->queue.tail();
  if (goroutine* next = quick_look(mp)) {
    mp->commit = commit_yield_local;
    mp->commit_arg = gp;
    switch_to(mp, gp, next);
    return;
  }
  // Nobody else here? Timers, stealing and the poller get their turn once in a while; else we are next.
  // [order] relaxed: only whether; g0 looks again, with acquire
  const bool plain = mp->picked == nullptr && pp->queue.empty() && pp->attention.load(relaxed) == 0 &&
                     mp->locked_gp == nullptr && sched.global.size() == 0;
  if (plain && ++pp->lone_yields % 64 != 0) return;
  mp->commit = plain ? commit_yield_lone : commit_yield_local;
  mp->commit_arg = gp;
  switch_to_g0(mp, gp);
}

void ready_and_yield(goroutine* gp) noexcept {
  machine* mp = this_machine();
  goroutine* self = mp->current;
  if (mp->pp == nullptr || self->is_thread || gp->is_thread) {
    ready(gp);
    return;
  }
  sanitizer::hb_release(gp);
  gp->status.store(g_status::runnable, relaxed);     // [order] relaxed: published by the switch
  if (stays_with_trimmer(gp)) [[unlikely]] return;
  if (goroutine* old = mp->pp->queue.put_next(gp)) put_local(mp->pp, old);
  switch_away(mp, self, commit_yield_local, self);
}

void leave_parking_slow(machine* mp) noexcept {
  mp->mark.store(0, relaxed);                        // [order] relaxed: a request, no more
  processor* pp = mp->pp;
  if (pp == nullptr || mp->current == nullptr || mp->current->is_thread) return;
  const std::uint32_t wanted = pp->attention.load(acquire);   // [order] acquire: pairs with who set the bit
  if (wanted == 0) return;
  goroutine* gp = mp->current;
  gp->reason.store(wait_reason::preempted, relaxed);
  emit(event::goroutine_preempt, gp->id);
  mp->commit = wanted & attend_slice ? commit_yield_global : commit_yield_local;
  mp->commit_arg = gp;
  switch_to_g0(mp, gp);
}

}  // namespace weft::inline v0::rt
