// retake.cpp — take the P of an M that is blocked in foreign code: sysmon, each round.
//
// Nobody announced the call: a read on a pipe, a std::mutex, a page fault. What is seen of it: the M is
// outside, and its gate stands still. That may also be a computation, which keeps its P until its slice ends
// (preempt.cpp). So:
//
//   look 1   outside, gate value s; the thread's CPU clock              remember both
//   look 2   still s, somebody could use the P, the clock stands        look again, soon
//   look 3   still s, the clock stands, the kernel says: it is blocked  claim the P, hand it on
//
// The clock alone is not enough: on a busy machine a thread that wants to run may stand for 20 ms, and sysmon
// with it. An announced call (blocking.cpp) is believed: the same one at two looks is blocked.
//
// The thread does not notice (claim.cpp). When it next enters the runtime it takes an idle P, or waits for
// one; until then it is a stray (strays.cpp).
//
// Blocked in a lock: the P goes to a thread that waits for one since its slice ended somewhere (preempt.cpp),
// if any: it may hold that lock. But at most every second time, or the others would wait for ever.
#include "os/os.hpp"
#include "sched/block_warning.hpp"
#include "sched/preempt.hpp"

namespace weft::inline v0::rt {
namespace {

constexpr std::int64_t long_call = 10'000'000;       // then the P is taken even if nobody waits for it
constexpr std::int64_t clock_alone = 3'000'000;      // so long it must stand where the kernel says no more
constexpr std::int64_t old_look = 1'000'000;         // since then it may have run first, and blocked later
bool thread_was_first = false;                       // at the last hand-on; sysmon only

// Go's rule: an idle P or a spinner would do for whatever comes, until the call has become a long one. And
// somebody must watch its timers.
bool is_wanted(processor* pp, std::int64_t stood) noexcept {
  if (!pp->queue.empty() || sched.global.size() != 0 || stood >= long_call) return true;
  // [order] relaxed: a heuristic
  if (pp->timers.earliest() != os::forever && !sched.polling.load(relaxed)) return true;
  return sched.idle.look().bits == 0;
}

enum class verdict { no, look_again, blocked, blocked_in_lock };

verdict judge(processor* pp, stay_outside& stay, std::int64_t now, block_warning& seen) noexcept {
  machine* mp = pp->seen_m;
  const std::uint64_t before = stay.announced;
  stay.announced = mp->announced.look();
  if (stay.announced == before && announcement_word::goes_on(before, stay.gate)) return verdict::blocked;
  const std::int64_t used = os::thread_cpu_time(mp->thread_id);
  const bool stands = used == stay.cpu_time, stood = stay.stands, long_ago = now - stay.looked >= old_look;
  stay.cpu_time = used;
  stay.looked = now;
  stay.stands = stands;
  if (!stands && (!long_ago || os::blocked_in(mp->thread_id) == os::not_blocked)) return verdict::no;
  if (!stands || !stood) return verdict::look_again;
  const long call = os::blocked_in(mp->thread_id, &seen.pc);
  if (call == os::not_blocked) return verdict::no;
  if (call <= os::blocked_unknown && now - stay.since < clock_alone) return verdict::look_again;
  seen.call = call;
  // Read while the M may go on: of another goroutine if so, and then the P is not taken.
  if (const goroutine* gp = mp->current) seen.goroutine = gp->id;
  return os::is_wait_for_lock(call) ? verdict::blocked_in_lock : verdict::blocked;
}

// The next P that is taken shall not wait for a thread to be created: who blocks then may hold a lock that
// pthread_create needs.
void keep_one_in_reserve() noexcept {
  locked hold(sched.lock);
  const bool none = sched.idle_ms.empty() && sched.poller_m == nullptr && sched.settling == 0;
  if (none && sched.machine_count + sched.threads_coming < sched.max_threads) request_thread();
}

}  // namespace

// True while nothing has changed since the last look.
bool meet_again(processor* pp, std::int64_t now) noexcept {
  machine* mp = pp->mp.load(acquire);                // [order] acquire: the record, not what it does now
  const std::uint64_t gate = mp != nullptr ? mp->gate.look() : 1;
  if (gate_word::is_outside(gate) && pp->seen_m == mp && pp->seen_stay.gate == gate) return true;
  pp->seen_m = nullptr;
  if (!gate_word::is_outside(gate)) return false;
  pp->seen_m = mp;
  pp->seen_stay = {gate, now, mp->announced.look(), os::thread_cpu_time(mp->thread_id), now};
  return false;
}

retaken retake(processor* pp, std::int64_t now) noexcept {
  stay_outside& stay = pp->seen_stay;
  if (!is_wanted(pp, now - stay.since)) return retaken::no;
  block_warning seen;                                // no goroutine: the call was announced
  const verdict v = judge(pp, stay, now, seen);
  if (v == verdict::no) return retaken::no;
  if (v == verdict::look_again) return retaken::look_again;
  const bool thread_first = v == verdict::blocked_in_lock && !thread_was_first;
  if (!take_for_good(pp->seen_m, stay.gate, thread_first)) return retaken::no;
  thread_was_first = thread_first;
  if (seen.goroutine != 0 && current_settings().blockwarn) note_block(seen, now);
  return retaken::yes;
}

bool take_for_good(machine* mp, std::uint64_t gate, bool thread_first) noexcept {
  processor* pp = claim_p_of_stay(mp, gate);
  if (pp == nullptr) return false;
  pp->mp.store(nullptr, relaxed);                    // [order] relaxed: the P is ours
  emit(event::processor_retake, pp->id);
  note_stray(mp, gate);
  if (!thread_first || !give_to_thread(pp)) hand_off_p(pp);
  keep_one_in_reserve();
  return true;
}

}  // namespace weft::inline v0::rt
