// machine.hpp — "M": one OS thread of the runtime, or the record of a thread that it did not start.
//
// An M with a P runs goroutines. Without one it sleeps on its note: in the idle list, in the poller, or bound
// to a goroutine that waits. A foreign thread has an M record too (`is_foreign`): no P ever, a thread-backed
// G, the same gate, so that every public function looks the same to it.
//
// Fields stand under who touches them. The first line is what every crossing and every switch uses.
#pragma once
#include "base/lock_rank.hpp"
#include "base/note.hpp"
#include "base/random.hpp"
#include "sched/announcement.hpp"
#include "sched/goroutine.hpp"
#include "sched/lease.hpp"

namespace weft::inline v0::rt {

struct processor;
struct stack_request;                 // observe/running_stack.cpp

struct stay_outside {                 // sysmon's notes about one (retake.cpp, preempt.cpp)
  std::uint64_t gate = 0;
  std::int64_t since = 0;
  std::uint64_t announced = 0;
  std::int64_t cpu_time = -1;         // of its thread, at the last look
  std::int64_t looked = 0;            // when that was
  bool stands = false;                // it was the same at the look before
  std::int64_t cpu_time_asked = -1;   // at the end of its slice
  std::int64_t interrupted = 0;       // when it was sent the signal; 0: was not
};
using commit_fn = void (*)(void*) noexcept;

struct alignas(cache_line) machine {
  // ---- its own thread; others look at gate, change lease and mark ----
  gate_word gate;
  lease_word lease;
  processor* pp = nullptr;            // null: no P (foreign, or between two)
  goroutine* current = nullptr;       // null on g0
  commit_fn commit = nullptr;         // left by the goroutine that switched away last (park.hpp)
  void* commit_arg = nullptr;
  atomic<std::uint32_t> mark{0};      // please look at your P's attention word on the way out
  announcement_word announced;        // a call that may block

  // ---- its own thread ----
  alignas(cache_line) carried_home home;
  context g0;                         // the thread's own stack: where schedule() runs
  carried_state g0_carried;
  [[no_unique_address]] sanitizer::fibre g0_fibre;
  goroutine* picked = nullptr;        // taken from a queue by the quick look, left to g0 (find_runnable.cpp)
  random_source random;
  std::uint32_t passed_over = 0;      // goroutines that it did not begin, in a row (must_stay_free)
  std::int64_t holds_back_since = 0;  // them, for a thread that comes; 0: does not
  std::uint32_t begins_left = 0;      // so many it may begin without asking
  std::uint32_t futile_waits = 0;     // for a P to come back, in a row (lock_thread.cpp)
  std::uint32_t waits_skipped = 0;    // not made since
  bool spinning = false;              // counted in sched.idle: has a P, looks for work
  bool is_foreign = false;
  bool is_service = false;            // template, sysmon, helper
  atomic<bool> interrupted{false};    // in the signal handler (preempt.cpp): its thread may hold any lock
  const void* interrupted_at = nullptr;   // there: the ucontext_t
  atomic<stack_request*> stack_wanted{nullptr};   // by a dump
  atomic<bool> in_fork{false};        // between the handlers of fork (fork.cpp)
  bool thread_ends = false;           // a locked goroutine has ended, or nobody needs it: no more Gs here

  // ---- set by whoever wakes it, before note.wake() ----
  alignas(cache_line) note park_note;
  atomic<processor*> next_pp{nullptr};
  atomic<bool> not_needed{false};     // it has lain in the idle list for long: it ends (threads.cpp)

  // ---- under sched.lock ----
  machine* link = nullptr;            // the idle list, or the threads in the global queue
  std::uint64_t place = 0;            // there: how many were queued before it
  std::uint32_t passed_by = 0;        // there: how many behind it went before it, for the sake of their CPU
  std::int32_t cpu = -1;              // where it stood when it began to wait for a P
  bool on_idle_list = false;
  bool settling = false;              // has no P, is awake, and goes idle next
  bool waits_for_p = false;           // in wait_for_p_here: its goroutine is queued, bound to it
  bool comes_back = false;            // has found no idle P, and will be queued next
  atomic<bool> goes_without_p{false}; // woken from there by let_go_stopped(), which then leaves it alone
  atomic<bool> hands_on{false};       // and it has not yet given away the P that it had

  // ---- sysmon ----
  machine* next_stray = nullptr;      // strays.cpp: those that were outside when their P was taken for good
  machine* next_reported = nullptr;   // that it is one, by itself
  atomic<bool> is_reported{false};
  bool is_stray = false;
  stay_outside stray;

  // ---- its own thread, debug builds ----
  held_locks held;

  // ---- constant after its start, or under sched.lock ----
  machine* next_machine = nullptr;    // all records, never unmapped (docs/threads.md)
  std::uint32_t id = 0;
  std::int32_t thread_id = 0;         // 0: no thread has this record just now
  goroutine* locked_gp = nullptr;     // thread_lock: nothing else runs here
  atomic<bool> lost{false};           // its world ended while it was in user code: its next crossing sleeps
  goroutine* thread_gp = nullptr;     // is_foreign: its thread-backed G
  bool parked_for_ever = false;       // is_foreign: its park has no deadline; written before the commit
};

}  // namespace weft::inline v0::rt
