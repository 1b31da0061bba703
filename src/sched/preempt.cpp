// preempt.cpp — end the slice of a goroutine that others wait for. Proof: docs/preemption.md.
//
//   slice        10 ms without a new slice and somebody waits; 0.4 ms without a call, and somebody
//     │          from outside waits (is_kept_waiting); or a timer is due that nobody runs
//     │
//   over         the attention bit and the mark are set: the next crossing of the gate answers (leave_slow,
//     │          leave_parking_slow), and so does the next switch
//     │ 200 us in the same stay outside, it has run in them, and the P has a thread to go to
//   interrupted  SIGURG: the handler crosses the gate in its place
//     │ a slice later still the same stay: the signal is blocked, or the thread stands in the kernel
//   claimed      the P goes on without it (retake.cpp); it is a stray
//
// The handler never switches goroutines: the thread waits in it for its next turn (wait_for_p_here), and what
// it holds, a lock of malloc say, it holds until then. Nothing the runtime does inside needs such a lock, so
// the P goes on; whoever needs the lock blocks, loses his P (retake.cpp), and that goes first to the threads
// that wait for their next turn.
//
// A thread parks in the handler only if its P has a thread to go to: a free P never waits for pthread_create,
// which may need a lock that the parked thread holds.
#include "sched/preempt.hpp"

#include <algorithm>

#include "os/os.hpp"
#include "sched/let_go.hpp"
#include "sched/threads.hpp"

namespace weft::inline v0::rt {
namespace {

constexpr std::int64_t us = 1'000, ms = 1'000'000;
constexpr std::int64_t patience = 200 * us;          // a goroutine that makes calls of ours answers by itself
constexpr std::int64_t full_slice = 10 * ms, early_slice = 400 * us, short_slice = 100 * us;
constexpr std::int64_t thread_patience = 1 * ms;     // a new thread usually comes within a tenth of this
constexpr std::uint32_t long_ones = 4;               // for each P: more of them, and slices are full ones
constexpr std::int64_t growth_pause = 20 * ms;       // beyond the soft limit: one thread more in this time
constexpr std::uint32_t soft_limit = 256;            // threads that wait for their next turn; or 4 for each P
constexpr std::int64_t longest_hold = 100 * ms;      // of what has not begun, for want of a thread
constexpr std::int64_t longest_creation = 2'000 * ms;  // of a thread; later it is believed to be refused
constexpr std::int64_t one_hold = 200 * ms;          // so long after the last time it is another one
constexpr std::int64_t one_rest = 50 * us;
constexpr std::int64_t longest_rest = 20 * ms;
constexpr std::int64_t longest_wait_for_cpu = 100 * ms;   // then the P need not stay with it

atomic<bool> creation_is_blocked{false};             // written by sysmon (look_at_template)

// What TSan does with a signal is to deliver it at the next call of libc, and a loop has none.
bool has_signals() noexcept { return !sanitizer::thread && !current_settings().asyncpreemptoff; }

bool in_a_hurry() noexcept { return creation_is_blocked.load(relaxed); }   // [order] relaxed: a hint

// Who comes from outside, from another thread or the kernel, waits in the global queue, and may need little.
// Not among many long computations: short slices would cost all of them, and gain nothing. And not who waits
// in the ring: 16 goroutines that share a mutex would be interrupted with the mutex in their hands.
bool is_kept_waiting() noexcept {
  const std::uint32_t threads = sched.global.threads();
  // [order] relaxed: only a stop changes it
  return sched.global.size() != threads && threads < long_ones * sched.maxprocs.load(relaxed);
}

std::int64_t slice_length() noexcept {
  const int us_wanted = current_settings().slice_us;
  return in_a_hurry() ? short_slice : us_wanted > 0 ? us_wanted * us : full_slice;
}

// Another slice than at the last look.
void note_slice(processor* pp, std::uint32_t tick, std::int64_t now) noexcept {
  pp->seen_when = pp->handed_tick == tick ? pp->handed_when.get() : now;
  pp->seen_tick = tick;
  pp->slice_ended = 0;
}

// When a timer of its ends its slice. A P that switches comes to its timers by itself, and one whose
// goroutine only makes calls, or that begins a slice, may be about to.
std::int64_t timer_needs_it(processor* pp, progress made) noexcept {
  const std::int64_t timer = pp->timers.earliest();
  if (made == progress::switches || timer == os::forever) return os::forever;
  return made == progress::none ? timer : std::max(timer, pp->seen_when) + late_timer;
}

// Never when nobody waits. Work elsewhere counts: in the ring of a P whose goroutine cannot be made to leave
// it, say. Who comes to the end of a slice takes from there (fetch_for_slice).
bool is_over(processor* pp, std::int64_t now, progress made) noexcept {
  if (now - pp->seen_when >= slice_length() && somebody_has_work()) return true;
  if (made == progress::none && now - pp->seen_stay.since >= early_slice && is_kept_waiting()) return true;
  return timer_needs_it(pp, made) <= now && sched.idle.look().idle_processors() == 0;
}

// When its slice may be over, or a timer of its due that it does not come to. Who is seen outside for the
// first time may stay there.
std::int64_t next_end(processor* pp, std::int64_t now, progress made) noexcept {
  std::int64_t next = somebody_has_work() ? pp->seen_when + slice_length() : os::forever;
  if (pp->seen_m != nullptr) made = progress::none;
  const std::int64_t timer = timer_needs_it(pp, made);
  next = std::min(next, timer <= now ? now + patience : timer);
  if (made != progress::none || !is_kept_waiting()) return next;
  return std::min(next, pp->seen_stay.since + early_slice);
}

// After its goroutine has been interrupted. No look is spent on seeing that a slice has begun, unless
// something may end it early. If it has not, the end of that slice is when the P is claimed.
std::int64_t next_look_after(processor* pp, std::int64_t now) noexcept {
  const std::int64_t end = now + slice_length();
  return is_kept_waiting() || pp->timers.earliest() < end ? now + patience : end;
}

// The slice that has been looked at shall end, and not one that has begun since.
void ask(processor* pp) noexcept {
  end_slice(pp);
  // [order] relaxed: as in begin_slice()
  if (pp->schedtick != pp->seen_tick) pp->attention.fetch_and(~std::uint32_t{attend_slice}, relaxed);
}

// Since the first time it was asked, in this stay. One that waits for a CPU, or in the kernel, is not
// interrupted for some time: it would come back to stop, and its P would go from thread to thread with
// nothing done.
bool has_run(const machine* mp, stay_outside& stay) noexcept {
  const std::int64_t used = os::thread_cpu_time(mp->thread_id);
  if (stay.cpu_time_asked < 0) stay.cpu_time_asked = used;
  return used != stay.cpu_time_asked;
}

// Its slice is over and it has been asked.
outcome press(processor* pp, std::int64_t now, progress made) noexcept {
  // [order] relaxed: a hint; set again if it is missed
  if ((pp->attention.load(relaxed) & attend_slice) == 0) {   // nobody waits any more
    pp->slice_ended = 0;
    pp->seen_when = now;
    return {false, next_end(pp, now, made)};
  }
  if (made != progress::none) {
    ask(pp);
    return {false, now + patience};
  }
  stay_outside& stay = pp->seen_stay;
  const std::int64_t patient_until = std::max(stay.since, pp->slice_ended) + patience;
  if (now < patient_until) return {false, patient_until};
  const bool forks = pp->seen_m->in_fork.load(relaxed);   // [order] relaxed: a hint. It would not stop
  const bool waits_long = now - pp->slice_ended >= longest_wait_for_cpu;   // others may have one
  if (!forks && !waits_long && !has_run(pp->seen_m, stay)) return {false, now + patience};
  if (stay.interrupted == 0 && may_interrupt() && !forks) {
    const bool sent = thread_for(pp) && interrupt(pp->seen_m, stay, now);
    return {false, sent ? next_look_after(pp, now) : now + patience};
  }
  const bool is_due = forks || now - stay.interrupted >= slice_length();
  const bool took = is_due && thread_for(pp) && take_for_good(pp->seen_m, stay.gate, false);
  return {took, now + patience, took && has_signals()};   // else every slice ends like this
}

void on_interrupt(os::interrupt_for what, const void* context) noexcept {
  machine* mp = this_machine();
  if (mp == nullptr) return;
  // Asked first whatever it is: of two signals that wait to be delivered the kernel keeps one.
  // [order] relaxed: whether to look
  if (mp->stack_wanted.load(relaxed) != nullptr) ports.show_stack(mp, context);
  if (what == os::interrupt_for::stack || mp->is_foreign || mp->current == nullptr) return;
  if (!gate_word::is_outside(mp->gate.look())) return;       // it sees the mark on its way out
  // Who forks holds every lock of malloc: its P is claimed later. [order] relaxed: our own, and a hint
  if (mp->in_fork.load(relaxed) || exiting.load(relaxed)) return;
  // [order] relaxed: for settle(), which reads it under the lock that this thread takes before it waits
  mp->interrupted_at = context;
  mp->interrupted.store(true, relaxed);
  leave_slow(mp);
  mp->interrupted.store(false, relaxed);
}

}  // namespace

void end_slice(processor* pp) noexcept {
  pp->attention.fetch_or(attend_slice, release);     // [order] release: pairs with attend()
  if (machine* mp = pp->mp.load(relaxed)) mp->mark.store(1, relaxed);   // [order] relaxed: a request
}

// [order] relaxed: seen a round later at worst
bool may_interrupt() noexcept { return has_signals() && !exiting.load(relaxed) && !stands_still(); }

// The thread may have gone on, or ended, since it was looked at: once more, then. What is left is a signal
// that comes after the stay: the handler finds the gate odd, or no M.
bool interrupt(machine* mp, stay_outside& stay, std::int64_t now) noexcept {
  if (mp->gate.look() != stay.gate || !interrupt_machine(mp)) return false;
  stay.interrupted = now;
  return true;
}

void install_preemption() noexcept {
  if (!sanitizer::thread) os::install_interrupt(on_interrupt);
}

// The thread that makes threads waits for a lock, and threads that have been stopped wait for their next
// turn: one of them may hold it (malloc's). All get a turn, and quickly, or whoever needs the new thread
// would wait for ten milliseconds for each of them.
bool look_at_template(std::int64_t now) noexcept {
  static std::int64_t last_look = 0;
  if (now - last_look < 1 * ms) return in_a_hurry();
  last_look = now;
  const std::int32_t creator = services.creating.load(relaxed);   // [order] relaxed, both: a hint
  const bool blocked = creator != 0 && os::is_wait_for_lock(os::blocked_in(creator));
  creation_is_blocked.store(blocked && sched.global.threads() != 0, relaxed);
  return in_a_hurry();
}

outcome preempt(processor* pp, std::int64_t now, progress made) noexcept {
  if (const std::uint32_t tick = pp->schedtick; tick != pp->seen_tick) note_slice(pp, tick, now);
  if (pp->slice_ended != 0) return press(pp, now, made);
  if (!is_over(pp, now, made)) return {false, next_end(pp, now, made)};
  pp->slice_ended = now;
  ask(pp);
  if (pp->seen_m != nullptr) has_run(pp->seen_m, pp->seen_stay);
  return {is_kept_waiting() || now - pp->seen_when < slice_length(), now + patience};
}

namespace {

// Under lock: Ms that run no goroutine, so they can take a P at once.
std::size_t free_ms() noexcept {
  return sched.idle_ms.size() + (sched.poller_m != nullptr) + sched.settling;
}

// Under lock: preemption never takes the last threads, since only blocking calls may end in "thread
// exhaustion". But one it must have: where all others are blocked, and none is stopped, or loops would freeze
// the rest.
bool may_take_a_thread() noexcept {
  const std::uint32_t count = sched.machine_count + sched.threads_coming, most = sched.max_threads;
  if (count < most - most / 4) return true;
  return count < most && sched.global.threads() == 0 && may_interrupt();
}

// Under lock: asks for a thread. False: not now, or never. Beyond the soft limit only once in a while: pure
// computation shall not need a thread for each goroutine.
bool grow(std::int64_t now) noexcept {
  static std::int64_t last_growth = 0;
  if (!may_take_a_thread()) return false;
  // [order] relaxed: under the lock
  const bool crowded = sched.global.threads() >= std::max(soft_limit, 4 * sched.maxprocs.load(relaxed));
  if (crowded && now - last_growth < growth_pause) return false;
  last_growth = now;
  request_thread();
  return true;
}

}  // namespace

bool thread_is_late(std::int64_t now) noexcept {
  return sched.threads_coming != 0 && now - sched.coming_since > thread_patience;
}

// Is there a thread that can take the P over if its M stops? If not, one is asked for, for the next time.
// Threads that wait for their next turn are as good, unless others than they wait; but if there can be no new
// thread soon they have to do.
bool thread_for(processor* pp) noexcept {
  const std::int64_t now = os::nanotime();
  locked hold(sched.lock);
  if (free_ms() != 0) return true;
  const bool threads_wait = sched.global.threads() != 0;
  if (threads_wait && only_threads_wait(pp, now)) return true;
  if (in_a_hurry() || thread_is_late(now)) return threads_wait;
  return !grow(now) && threads_wait;
}

namespace {

// Under lock, and no thread is free: is what has not begun held back? As long as threads that wait for their
// turn have the P meanwhile; but one may begin now and then, or without a thread for good it never would. And
// for some time while a thread comes, if that is not known to be in vain.
bool holds_back(machine* mp, std::int64_t now) noexcept {
  if (sched.threads_coming == 0) grow(now);
  if (sched.global.threads() == 0) {
    if (sched.threads_coming == 0 || sched.rested_in_vain) return false;
    if (mp->holds_back_since == 0) mp->holds_back_since = now;
    sched.rested_in_vain = now - mp->holds_back_since >= longest_rest;
    return !sched.rested_in_vain;
  }
  if (now - sched.last_held_back > std::max(one_hold, 2 * slice_length())) sched.held_back_since = now;
  sched.last_held_back = now;
  if (now - sched.held_back_since < longest_hold) return true;
  sched.held_back_since = now;
  return false;
}

// Nothing is left but what has not begun. True: an M has become free.
bool rest(machine* mp, std::int64_t now) noexcept {
  os::sleep_ns(std::min(one_rest, mp->pp->timers.earliest() - now));
  locked hold(sched.lock);
  return free_ms() != 0;
}

}  // namespace

// The last M that runs no goroutine serves those that run for short times, and passes the P on to the threads
// that wait. If it began a goroutine that turns out to be another long computation nobody could do that,
// until the template thread has made an M; and that may have to wait for a lock that a stopped thread holds,
// or a stray. When it has passed over all that have not begun, it rests.
bool must_stay_free(machine* mp) noexcept {
  constexpr std::uint32_t begins_unasked = 64;       // short ones, as a rule; the first long one is the last
  bool free = true;                                  // another M, or it does not matter
  if (sched.has_long_ones()) {
    const std::int64_t now = os::nanotime();
    std::uint32_t waiting;
    {
      locked hold(sched.lock);
      const std::size_t others = free_ms();
      if (others == 1 && sched.threads_coming == 0) grow(now);   // for the next one that has not begun
      free = others != 0;
      if (!free && !holds_back(mp, now)) {
        mp->passed_over = 0;
        mp->holds_back_since = 0;
        // A thread comes: this one only. Unless threads are refused.
        const bool none_comes = sched.threads_coming == 0 || now - sched.coming_since > longest_creation;
        mp->begins_left = none_comes ? begins_unasked : 0;
        return false;
      }
      waiting = sched.global.threads() != 0 ? UINT32_MAX : sched.global.size() + mp->pp->queue.size();
    }
    if (!free && ++mp->passed_over > waiting) {
      mp->passed_over = 0;
      free = rest(mp, now);
    }
  }
  if (free) {
    mp->passed_over = 0;
    mp->holds_back_since = 0;
  }
  mp->begins_left = free ? begins_unasked : 0;
  return !free;
}

// Its P comes back to it. A thread that could serve another P is looked for, if there is one or none comes.
void pass_over(goroutine* gp) noexcept {
  bool look;
  {
    locked hold(sched.lock);
    sched.global.push_back(gp);
    look = sched.threads_coming == 0 || free_ms() != 0;
  }
  if (look) wake_p();
}

}  // namespace weft::inline v0::rt
