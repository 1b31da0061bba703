// claim.cpp — take the P of an M that is outside, without a signal and without its noticing.
//
//   claim, for a gate value s seen twice, even            the M
//   1  lease: CAS held -> claimed, sequence+1             enter: gate = s+1                W1
//   2  heavy barrier (one for a batch)                           light barrier
//   3  gate still s? no: CAS claimed -> held, give up            lease is my copy?         R1
//   4  lease: CAS claimed -> taken                               no: enter_slow
//
// If the barrier fell after W1, the taker sees gate != s and drops the claim. If before, R1 comes after the
// barrier and sees claimed or taken; step 4 and the owner's CAS have one winner. What the M did to its P
// before it left is visible to the taker (W2 release, step 3 acquire). Gates count, so "left and came back"
// is seen; leases name the P.
//
// Who takes: stop_the_world, for_each_p, the end of a world, sysmon from blocking calls (retake.cpp) and from
// who does not stop at the end of a slice (preempt.cpp).
#include "os/os.hpp"
#include "sched/preempt.hpp"

namespace weft::inline v0::rt {
namespace {

struct attempt {
  std::uint64_t gate;
  lease_word::value claimed;
  bool open;
};

attempt begin_claim(machine* mp) noexcept {
  const std::uint64_t gate = mp->gate.look();
  const lease_word::value seen = mp->lease.look();
  if (!gate_word::is_outside(gate) || seen.state() != lease_state::held) return {gate, seen, false};
  const lease_word::value claimed = seen.next(lease_state::claimed);
  return {gate, claimed, mp->lease.change(seen, claimed)};
}

processor* finish_claim(machine* mp, const attempt& a) noexcept {
  if (!a.open) return nullptr;
  if (mp->gate.look() != a.gate) {
    // Fails when the M has taken it back itself.
    mp->lease.change(a.claimed, a.claimed.with(lease_state::held));
    return nullptr;
  }
  const bool won = mp->lease.change(a.claimed, a.claimed.with(lease_state::taken));
  // Not the lease as it is now: the M may be back already, and have another P.
  return won ? &sched.processors[a.claimed.processor()] : nullptr;
}

}  // namespace

processor* claim_p_of_stay(machine* mp, std::uint64_t gate) noexcept {
  attempt one = begin_claim(mp);
  if (!one.open) return nullptr;
  one.gate = gate;                                   // another stay: given up in step 3
  heavy_barrier();
  return finish_claim(mp, one);
}

processor* claim_p(machine* mp) noexcept {
  processor* pp = nullptr;
  machine* const one[] = {mp};
  claim_all(one, 1, &pp);
  return pp;
}

std::uint32_t claim_all(machine* const* ms, std::uint32_t n, processor** won) noexcept {
  constexpr std::uint32_t batch = 64;
  std::uint32_t count = 0;
  for (std::uint32_t first = 0; first < n; first += batch) {
    const std::uint32_t end = first + batch < n ? first + batch : n;
    attempt attempts[batch];
    bool any = false;
    for (std::uint32_t i = first; i < end; ++i) any |= (attempts[i - first] = begin_claim(ms[i])).open;
    if (any) heavy_barrier();
    for (std::uint32_t i = first; i < end; ++i)
      count += (won[i] = finish_claim(ms[i], attempts[i - first])) != nullptr;
  }
  return count;
}

bool give_back_p(machine* mp, processor* pp) noexcept {
  const lease_word::value seen = mp->lease.look();
  return seen.state() == lease_state::taken && seen.processor() == pp->id &&
         mp->lease.change(seen, seen.with(lease_state::held));
}

namespace {

// The P is gone. Leaves `taken`, so that nobody gives it back behind our back; under the lock, since the end
// of a world decides there that the M is lost. Back from a call that was long: an idle P will do, without a
// turn in the queue. False: look again.
bool come_back(machine* mp, lease_word::value seen) noexcept {
  locked hold(sched.lock);
  const lease_word::value none = seen.next(lease_state::none);
  // [order] relaxed: under the lock; acquire: pairs with end_main()
  if (mp->lost.load(relaxed) || !mp->lease.change(seen, none)) return false;
  mp->lease.copy(none);
  mp->pp = nullptr;
  const bool waits = sched.stopping.load(relaxed) || sched.ended.load(acquire);
  processor* pp = waits ? nullptr : idle_get_p();
  mp->comes_back = pp == nullptr;
  if (pp == nullptr) return true;
  begin_slice(pp);
  acquire_p(mp, pp);
  return true;
}

}  // namespace

// The thread enters and its lease is not what it was.
void enter_slow(machine* mp) noexcept {
  for (;;) {
    const lease_word::value seen = mp->lease.look();
    switch (seen.state()) {
      case lease_state::none:
      case lease_state::held:      // a claim was dropped, or the P was given back
        mp->lease.copy(seen);
        return;
      case lease_state::claimed: { // not decided yet: the P stays here if our CAS comes first
        const lease_word::value mine = seen.next(lease_state::held);
        if (!mp->lease.change(seen, mine)) continue;
        mp->lease.copy(mine);
        return;
      }
      case lease_state::taken:
        if (mp->lost.load(acquire)) {                // [order] acquire: pairs with lose()
          if (mp->interrupted.load(relaxed)) return; // [order] relaxed: our own. Out of the handler first
          sleep_for_ever();
        }
        if (!come_back(mp, seen)) continue;
        if (mp->pp == nullptr) wait_for_p_here(mp);
        return;
    }
  }
}

// The goroutine keeps this thread: it is queued as bound to it, and whoever picks it gives his P to this
// thread. On entry the M has a P (which it hands on) or none. When the world ends meanwhile it goes no
// further; but in the signal handler it may hold any lock, so there it goes on without a P, to its next
// crossing of the gate.
void wait_for_p_here(machine* mp) noexcept {
  goroutine* gp = mp->current;
  machine* const was_bound = gp->bound;
  gp->bound = mp;
  gp->status.store(g_status::runnable, relaxed);     // [order] relaxed: published by the queue's lock
  mp->cpu = os::current_cpu();
  {
    locked hold(sched.lock);
    sched.global.push_thread(mp);
    mp->waits_for_p = true;
    mp->comes_back = false;
    mp->hands_on.store(true, relaxed);               // [order] relaxed: under the lock
  }
  sched.threads_stopped.fetch_add(1, relaxed);       // [order] relaxed, both: a heuristic
  if (mp->pp != nullptr)
    hand_off_p(release_p(mp), mp->cpu);
  else
    wake_p();
  mp->hands_on.store(false, release);                // [order] release: settle() sees the P given away
  processor* pp;
  do {
    mp->park_note.sleep();
    if (mp->stack_wanted.load(relaxed) != nullptr) [[unlikely]]   // [order] relaxed: whether to look
      ports.show_stack(mp, mp->interrupted.load(relaxed) ? mp->interrupted_at : nullptr);
  }
  // [order] acquire: pairs with lose() and let_go_stopped()
  while ((pp = take_next_p(mp)) == nullptr && !mp->lost.load(acquire) && !mp->goes_without_p.load(acquire));
  sched.threads_stopped.fetch_sub(1, relaxed);
  if (pp == nullptr && mp->goes_without_p.exchange(false, relaxed)) {   // [order] relaxed: ours again
    gp->bound = was_bound;
    gp->status.store(g_status::running, relaxed);
    mp->lease.go_without();
    report_stray(mp);
    return;
  }
  if (pp == nullptr) {
    if (!mp->interrupted.load(relaxed)) sleep_for_ever();   // [order] relaxed: our own
    mp->lease.surrender();
    return;
  }
  acquire_p(mp, pp);
  gp->bound = was_bound;
  gp->status.store(g_status::running, relaxed);      // [order] relaxed: whoever dequeued it gave it to us
}

namespace {

// As if a claimer had come while we were outside. A claimer could: but a goroutine that crosses all the time
// escapes it nearly always, since its gate has moved on.
void leave_p_to_stop(machine* mp) noexcept {
  locked hold(sched.lock);
  if (!sched.stopping.load(relaxed)) return;         // [order] relaxed: under the lock
  processor* pp = mp->pp;
  pp->taken_from = mp;
  pp->mp.store(nullptr, relaxed);                    // [order] relaxed: under the lock
  mp->lease.surrender();
  count_stopped(pp);
}

bool somebody_waits_for(processor* pp) noexcept {
  return !pp->queue.empty() || sched.global.size() != 0 || pp->timers.earliest() <= os::nanotime();
}

// The slice is over, in a place where the goroutine keeps its thread. Without a thread for its P the bit
// stays, for the next switch, and for sysmon to try again. What waits in run_next begins a slice.
void end_slice_here(machine* mp) noexcept {
  processor* pp = mp->pp;
  fetch_for_slice(mp);
  const bool waits = somebody_waits_for(pp);
  if (waits && !thread_for(pp)) return;
  begin_slice(pp);
  if (!waits) return;
  emit(event::goroutine_preempt, mp->current->id);
  wait_for_p_here(mp);
}

}  // namespace

// The mark was seen on the way out of a function that does not park (the gate is even again), or the signal
// has come. At the end of a slice the P goes to another thread, if any. For a stop the P is left behind, and
// the goroutine goes on in user code without it. At the end of the world it goes no further.
void leave_slow(machine* mp) noexcept {
  mp->mark.store(0, relaxed);                        // [order] relaxed: a request, no more
  if (mp->is_foreign) return;
  enter();
  // [order] acquire: pairs with who set the bit
  if (mp->lease.is_mine() && mp->pp->attention.load(acquire) & attend_slice) end_slice_here(mp);
  if (!mp->lease.is_mine()) {                        // in the handler: the world has ended, or we are let go
    mp->gate.leave();
    return;
  }
  processor* pp = mp->pp;
  // [order] relaxed: of the bits, looked at again; acquire: pairs with end_main()
  if (pp->attention.load(relaxed) & attend_safe_point) run_safe_point(pp);
  if (pp->attention.load(relaxed) & attend_stop) {
    if (sched.ended.load(acquire) && !mp->interrupted.load(relaxed)) stay_behind(mp);
    leave_p_to_stop(mp);
  }
  mp->gate.leave();
}

void sleep_for_ever() noexcept {
  for (;;) {
    note never;
    never.sleep();
  }
}

}  // namespace weft::inline v0::rt
