// sched.hpp — the scheduler's global state, and the verbs that its files share. Names are Go's (proc.go).
//
//   schedule.cpp       the loop of an M: pick, execute          find_runnable.cpp  where the next comes from
//   steal.cpp          visit the others                         wake.cpp           who must be woken
//   switch.cpp         from one stack to another                park.cpp           block, wake, yield
//   new_goroutine.cpp  birth                                    g_cache.cpp        blocks and ids
//   claim.cpp          leases; enter and leave, slow            stop_world.cpp     stop, resize, for_each_p
//   sysmon.cpp         decides                                  helper.cpp         writes, trims, resizes
//   blocking.cpp       announced blocking calls                 retake.cpp         the P of one that blocks
//   preempt.cpp        the end of a slice, by signal            strays.cpp         Ms whose P was taken
//   threads.cpp        template thread, limit                   lock_thread.cpp    G bound to M
//   timers.cpp         arm, run, earliest                       deadlock.cpp       all asleep
//   trim.cpp           stacks of those who wait for long        global_queue.hpp   the queue of all Ps
//   fork.cpp           the child may only exec                  exit.cpp           the end of the process
//   watchdog.cpp       nothing is scheduled                     let_go.cpp         stopped threads go on
//   world.cpp          run(): begin and end                     foreign.cpp        threads we did not start
#pragma once
#include "base/settings.hpp"
#include "event/event.hpp"
#include "sched/global_queue.hpp"
#include "sched/idle.hpp"
#include "sched/inside.hpp"
#include "sched/park.hpp"
#include "sched/ports.hpp"
#include "sched/processor.hpp"

namespace weft::inline v0::rt {

struct scheduler {
  // ---- any thread ----
  alignas(cache_line) idle_word idle;
  atomic<std::uint32_t> world{0};              // number of the present world; 0 before the first
  atomic<bool> running{false};                 // between the beginning and the end of run()
  atomic<bool> ended{false};                   // the main goroutine has returned
  atomic<std::uint32_t> maxprocs{0};
  atomic<std::uint32_t> highest_maxprocs{0};   // in this world
  atomic<std::int64_t> coarse_now{0};          // os::nanotime as of sysmon's or an idle M's last look
  atomic<std::uint64_t> born_elsewhere{0};     // by threads without a P; the rest is counted in the Ps
  atomic<std::int64_t> poll_until{os::forever}; // when the M in the poller will wake
  atomic<bool> polling{false};                 // an M waits in the poller
  atomic<std::uint32_t> futile_wakes{0};       // spinners in a row that found nothing (wake.cpp)
  atomic<std::uint32_t> threads_parked{0};     // foreign threads asleep in a park
  atomic<std::uint32_t> threads_stopped{0};    // in wait_for_p_here(), for their goroutine's next turn
  atomic<std::uint32_t> strays{0};             // Ms that have lost their P to a long call (strays.cpp)
  atomic<bool> only_strays_come{false};        // at the limit of threads, to an idle P with work
  atomic<std::uint32_t> without_stack{0};      // goroutines that could not start for want of a stack
  processor* processors = nullptr;             // [0, maxprocs); address space for the most, reserved once

  // ---- under lock ----
  alignas(cache_line) ranked_lock<lock_rank::scheduler> lock;
  global_queue global;
  stack_list<processor, &processor::link> idle_ps;
  fifo<processor, &processor::link> waiting_ps;   // idle too, with work for an M that settles
  stack_list<machine, &machine::link> idle_ms;
  std::size_t idle_ms_least = 0;               // so many have lain there all the time (end_idle_machines)
  machine* poller_m = nullptr;                 // sleeps in the poller, and may be given a P there
  std::uint32_t settling = 0;                  // Ms without a P that are awake, and go idle next
  std::uint32_t ps_for_settling = 0;           // so many of these shall take an idle P instead
  std::int64_t strays_used = -1;               // CPU time of those, when all of them seemed to be blocked
  std::int64_t strays_stand_since = 0;         // since then they have used no more (wake.cpp)
  std::int64_t strays_seen_when = 0;
  machine* all_ms = nullptr;                   // prepend-only, never unmapped; readable without the lock
  std::uint32_t machine_count = 0;             // runtime threads that have a record and run goroutines
  std::uint32_t threads_coming = 0;            // asked of the template thread, not yet there
  std::int64_t coming_since = 0;               // since one of them has been the next to come
  std::int64_t held_back_since = 0;            // what has not begun, for want of a thread (must_stay_free)
  std::int64_t last_held_back = 0;
  bool rested_in_vain = false;                 // an M, for long enough, and no thread has come
  std::uint32_t threads_ending = 0;            // in machine_count still, but they run nothing more
  std::uint32_t locked_idle = 0;               // Ms bound to a goroutine that is parked
  std::uint32_t stop_wait = 0;                 // Ps that have not stopped yet
  atomic<bool> stopping{false};                // the world is being stopped or stands
  note stop_note;
  std::uint32_t next_machine_id = 0;
  std::uint32_t max_threads = 10000;
  struct thread_hooks {
    void (*start)(void*) = nullptr;
    void (*stop)(void*) = nullptr;
    void* arg = nullptr;
  } hooks;                                     // written while no thread is coming
  goroutine_list before_world;                 // go() before run()
  goroutine_list stackless;                    // runnable, but no stack was to be had
  note world_over;                             // wakes the thread in run()

  // Some thread is in a computation or a call that has become long.
  bool has_long_ones() const noexcept {        // [order] relaxed: a heuristic
    return (threads_stopped.load(relaxed) | strays.load(relaxed)) != 0;
  }
};
extern constinit scheduler sched;

// ---- world.cpp, foreign.cpp ----
void end_main(goroutine* gp) noexcept;         // the main goroutine has returned (or called exit())
void runtime_init() noexcept;                  // idempotent; outside
void forget_this_thread() noexcept;            // outside: the calling thread is unknown again
machine* new_machine(bool foreign) noexcept;   // a record; null when memory has run out
void free_machine(machine* mp) noexcept;       // what it was for goes by is_foreign

// ---- schedule.cpp ----
void schedule(machine* mp) noexcept;           // on g0; returns when the thread ends
void stop_m(machine* mp, bool p_comes_back = false) noexcept;   // in the idle list, to a P or its end
void acquire_p(machine* mp, processor* pp) noexcept;
void acquire_p_as_spinner(machine* mp, processor* pp) noexcept;   // an idle one: looks for work with it
processor* release_p(machine* mp) noexcept;    // the M's P, now nobody's
// What a waker has left for mp, under the lock, before he wakes it. [order] acquire: pairs with leave_next_p
inline processor* take_next_p(machine* mp) noexcept { return mp->next_pp.exchange(nullptr, acquire); }
inline void leave_next_p(machine* mp, processor* pp) noexcept { mp->next_pp.store(pp, release); }
void park_stopped_p(machine* mp) noexcept;     // the world is being stopped: leave the P there, sleep
void leave_world(machine* mp) noexcept;        // the world has ended: drop the P, sleep until the next
[[noreturn]] void stay_behind(machine* mp) noexcept;   // the same in a goroutine: its thread never goes on

// ---- find_runnable.cpp ----
struct runnable { goroutine* gp; bool inherits_slice; };
runnable find_runnable(machine* mp) noexcept;  // blocks
bool somebody_has_work() noexcept;             // in the global queue or in any P's
goroutine* take_next(machine* mp) noexcept;    // on any stack: run_next or the ring; null: go to g0
goroutine* quick_look(machine* mp) noexcept;   // the same, and it has a stack

// ---- steal.cpp ----
struct stolen { goroutine* gp; bool inherits_slice; bool look_again; };
stolen steal_work(machine* mp, std::int64_t& now) noexcept;
goroutine* steal_ring(machine* mp) noexcept;   // one look at the others' rings; for a yield that is alone
void fetch_for_slice(machine* mp) noexcept;    // a slice is over: nobody waits here? take from elsewhere

// ---- wake.cpp ----
void wake_p_slow() noexcept;
inline void wake_p() noexcept {                // call after publishing work
  light_barrier();                             // publish, then look: docs/parking.md
  if (sched.idle.look().needs_waker()) [[unlikely]] wake_p_slow();
}
void wake_for_next(processor* pp) noexcept;    // the same for a G in run_next: learns whether waking pays
// pp is the caller's to give; no lock held. `free_cpu`: of the caller, if it sleeps next.
void start_m(processor* pp, bool spinning, std::int32_t free_cpu = -1) noexcept;
void hand_off_p(processor* pp, std::int32_t free_cpu = -1) noexcept;   // its M cannot go on with it
bool give_to_thread(processor* pp) noexcept;   // to one in wait_for_p_here(); false: there is none
bool only_threads_wait(processor* pp, std::int64_t now) noexcept;   // under lock: nobody else wants a turn
void begin_settling(machine* mp) noexcept;     // under lock: it has no P, is awake, and goes idle next
bool end_settling(machine* mp) noexcept;       // under lock: true if it shall take an idle P instead
bool stop_spinning(machine* mp) noexcept;      // out of the count; false: it was not in it
void reset_spinning(machine* mp) noexcept;     // a spinner has found work: wake the next one
void note_futile_spin() noexcept;              // a spinner has found nothing
void count_stopped(processor* pp) noexcept;    // under lock: it has stopped, for a stop of the world
processor* idle_get_p() noexcept;              // under lock
void idle_put_p(processor* pp) noexcept;       // under lock
void submit_global(goroutine* gp) noexcept;              // takes the lock, then wakes
void submit_global(goroutine_list&& list) noexcept;

// ---- switch.cpp ----
void switch_to(machine* mp, goroutine* from, goroutine* to) noexcept;   // `to` has a stack
void switch_to_g0(machine* mp, goroutine* from) noexcept;
void execute(machine* mp, goroutine* to) noexcept;       // from g0; returns when a goroutine switches there
bool give_stack(processor* pp, goroutine* gp) noexcept;  // false: there is none
void hold_stackless(goroutine* gp) noexcept;             // runnable, but it waits for a stack (stackless.cpp)
void retry_stackless() noexcept;                         // a stack has become free

// ---- park.cpp ----
void make_runnable(machine* mp, goroutine* gp, bool next) noexcept;   // queue and wake
void put_local(processor* pp, goroutine* gp) noexcept;   // ring, spilling to the global queue

// ---- g_cache.cpp ----
goroutine* take_goroutine(processor* pp) noexcept;       // null: memory has run out. pp may be null
void free_goroutine(processor* pp, goroutine* gp) noexcept;
std::uint64_t new_goroutine_id(processor* pp) noexcept;
std::int64_t live_goroutines() noexcept;       // of this world; advisory
void for_each_goroutine(void (*f)(goroutine*, void*), void* arg) noexcept;   // every block ever used
void drain_goroutines(processor* pp) noexcept;           // a P is destroyed
struct block_walk { void* slab = nullptr; std::uint32_t next = 0; };
goroutine* next_block(block_walk& at) noexcept;          // the same, one by one; null: the end, then anew
std::size_t scavenge_goroutines() noexcept;              // gives whole free slabs back; helper thread

// What gp will touch first when it runs; it has been out of the caches for a while.
inline void prefetch_start(const goroutine* gp) noexcept {
  if (gp->is_started()) {
    __builtin_prefetch(gp->saved.sp);
    __builtin_prefetch(static_cast<std::byte*>(gp->saved.sp) + cache_line);
  } else {
    __builtin_prefetch(&gp->entry);
    __builtin_prefetch(&gp->inline_closure);
  }
}

// ---- new_goroutine.cpp ----
void submit_new(machine* mp, goroutine* gp) noexcept;    // a filled-in G becomes runnable
void delete_closure(goroutine* gp) noexcept;             // its allocation, if it has one; outside

// ---- claim.cpp ----
processor* claim_p(machine* mp) noexcept;                // its P is the caller's now; null: it is inside
processor* claim_p_of_stay(machine* mp, std::uint64_t gate) noexcept;   // only if it is still outside since
std::uint32_t claim_all(machine* const* ms, std::uint32_t n, processor** won) noexcept;   // with one barrier
bool give_back_p(machine* mp, processor* pp) noexcept;   // taken -> held; false: the M has gone on without
void wait_for_p_here(machine* mp) noexcept;              // the goroutine keeps this thread and waits for a P
[[noreturn]] void sleep_for_ever() noexcept;

// ---- stop_world.cpp ----
void stop_world_and_run(void (*f)(void*), void* arg) noexcept;   // helper thread, or a thread without a P
void resize_processors(std::uint32_t n) noexcept;        // the world is stopped
void init_processors(std::uint32_t n) noexcept;          // before the world runs
void for_each_p(void (*f)(processor*)) noexcept;         // once on each P, at a safe point; helper thread
void run_safe_point(processor* pp) noexcept;             // the P's own M, or whoever claimed the P

// ---- preempt.cpp (more for sysmon in preempt.hpp) ----
void end_slice(processor* pp) noexcept;        // a request: the next crossing or switch answers
bool thread_for(processor* pp) noexcept;       // some thread can take it over; false: one was asked for
void pass_over(goroutine* gp) noexcept;        // that may not begin now
bool must_stay_free(machine* mp) noexcept;     // it may not begin a goroutine now (only then has it others)

// A goroutine's slice begins on this P: whoever asked for the end of one meant an earlier one.
inline void begin_slice(processor* pp) noexcept {
  ++pp->schedtick;
  // [order] relaxed, both: a request; missed here, this slice is short (ask, preempt.cpp)
  if (pp->attention.load(relaxed) & attend_slice) [[unlikely]]
    pp->attention.fetch_and(~std::uint32_t{attend_slice}, relaxed);
}

// ---- lock_thread.cpp ----
void start_locked_m(machine* mp, goroutine* gp) noexcept;   // gives mp's P to gp's bound M, then sleeps
void stop_locked_m(machine* mp) noexcept;                   // mp's locked goroutine is parked: sleeps with it
void wait_awhile_for_p(machine* mp) noexcept;               // that it has just given away
void lock_thread(machine* mp) noexcept;                     // one level more for the current goroutine
void end_locked(machine* mp, goroutine* gp) noexcept;       // it ended while locked: its thread goes with it

// ---- threads.cpp, sysmon.cpp, helper.cpp ----
void request_thread() noexcept;                // under lock; not beyond the limit
void withdraw_requests() noexcept;             // under lock: the world has ended
[[noreturn]] void thread_limit_reached() noexcept;
void start_service_threads() noexcept;
void wake_sysmon() noexcept;
void post_to_helper(void (*f)(void*), void* arg) noexcept;   // blocks or parks the caller until f has run
enum helper_work : std::uint32_t {
  helper_trace = 1,
  helper_procs = 2,
  helper_scavenge = 4,
  helper_posted = 8,
  helper_block_warnings = 16,
  helper_standstill = 32,
};
void wake_helper(std::uint32_t work) noexcept;
bool helper_is_busy() noexcept;
bool helper_may_stop_world() noexcept;         // the end of a world waits for that,
bool sysmon_looks() noexcept;                  // and for this: it may have a P in hand

// ---- trim.cpp ----
enum class trim_result { done, later, more };            // later: some have not waited for long enough
trim_result trim_parked(std::int64_t now, std::int64_t waited_ns) noexcept;   // helper thread
trim_result trim_step(std::int64_t before) noexcept;     // the same at once; for tests
bool stays_with_trimmer_slow(goroutine* gp) noexcept;
// After the status says runnable: true when the helper has it just now, and will queue it.
inline bool stays_with_trimmer(goroutine* gp) noexcept {
  light_barrier();
  // [order] relaxed: ordered by the barrier pair
  return gp->trim.load(relaxed) != trim_state::free && stays_with_trimmer_slow(gp);
}

// ---- timers.cpp ----
std::int64_t run_timers(processor* pp, std::int64_t now) noexcept;   // fires what is due; the next instant
std::int64_t earliest_timer() noexcept;        // of all Ps
void wake_poller(std::int64_t when) noexcept;  // the M in the poller must wake by then
bool watch_timers(processor* pp) noexcept;     // true when one is due; sees to it that somebody watches
constexpr std::int64_t late_timer = 500'000;   // ns; a P that switches is less late with them, as a rule
void end_slice_for_timers(processor* pp) noexcept;   // who floods its ring does not come to its timers

// ---- deadlock.cpp ----
void check_dead() noexcept;                    // under lock: an M has gone idle, or its thread ends
void note_thread_end(std::int32_t id) noexcept;   // under lock: the calling M's, not counted any more
void look_for_deadlock() noexcept;             // the same, without the lock: a foreign thread parks

}  // namespace weft::inline v0::rt
