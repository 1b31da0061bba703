// goroutine.hpp — "G": one goroutine, or the thread-backed G of a thread that the runtime did not start.
//
//   dead ──go()──> runnable ──execute()──> running ──park()──> waiting
//                     ^                      │  ^                 │
//                     │                      │  └── yield() ──┐   │
//                     ├──────────────────────┼──────────────<─┘   │
//                     └──────────────────── ready() ──────────────┘
//                                            └── returns ──> dead ──(block reused)──> runnable
//   a world ends: every G of it that is not dead becomes `abandoned` and stays so.
//
// I1  a G is in at most one queue, by `link`: a run queue, a free list, a batch; none while it runs or waits
// I2  a waiting G may be made runnable only after its commit has run, i.e. its context is saved (park.hpp)
// I3  blocks are type-stable: a pointer to a G may always be read; one that was given back reads as idle or
//     dead
// I4  a switch from goroutine to goroutine touches line 0 and no other
// I5  a block that is not in use has no bound, lock_depth, locals or armed timer: the end leaves it so
//
// The block is 256 bytes, 64-byte aligned, from slabs (g_cache.cpp); the closure lies in it when it fits.
#pragma once
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "base/atomic.hpp"
#include "context/context.hpp"
#include "context/sanitizer.hpp"
#include "event/wait_reason.hpp"
#include "stack/stack.hpp"
#include "timeheap/timer_heap.hpp"

namespace weft::inline v0::rt {

struct machine;

// Go's numbers, for scheddetail. Each says who owns the stack and who may leave the state.
enum class g_status : std::uint8_t {
  idle = 0,       // a block never used, or given back to the kernel
  runnable = 1,   // in a run queue, owns no CPU; whoever dequeues it moves it to running
  running = 2,    // on an M; only that M's thread moves it on
  waiting = 4,    // parked; the one waker that won moves it to runnable
  dead = 6,       // ended; the block is in a free list
  abandoned = 12  // its world has ended while it was alive; nobody may wake it
};

// Who wakes a goroutine that several may want to wake (value, deadline, stop request): exactly one of them.
//
//   closed ──begin()──> open ──claim()──> claimed early ──commit_parked()──> the commit makes it runnable
//                        └──commit_parked()──> parked ──claim()──> claimed: the claimer calls ready()
class wait_word {
 public:
  enum class claimed { lost, early, parked };
  // Winners that are not the index of a case.
  static constexpr std::uint32_t timed_out = 0x3ffffffe, stopped = 0x3fffffff;

  // [order] relaxed: published with the waiter, by its lock
  void begin() noexcept { word_.store(0, relaxed); }
  claimed claim(std::uint32_t winner) noexcept {
    std::uint32_t seen = word_.load(relaxed);
    do {
      if (seen & claimed_bit) return claimed::lost;
      // [order] acq_rel: pairs with commit_parked() so that a winner that sees `parked` sees the saved
      // context, and with the other claimers.
    } while (!word_.compare_exchange_weak(seen, seen | claimed_bit | winner << 2, acq_rel, relaxed));
    return (seen & parked_bit) ? claimed::parked : claimed::early;
  }
  // In the commit, after the last lock is released. False: somebody claimed before, the commit must ready().
  // [order] acq_rel, here and in close(): pairs with claim()
  bool commit_parked() noexcept {                    // the sum is an or: the bit is clear, and it is one xadd
    return (word_.fetch_add(parked_bit, acq_rel) & claimed_bit) == 0;
  }
  // [order] acquire: the winner's writes
  std::uint32_t winner() const noexcept { return word_.load(acquire) >> 2; }
  // Closes the word: claims that come later lose. True when nobody had claimed.
  bool close() noexcept { return (word_.fetch_or(claimed_bit, acq_rel) & claimed_bit) == 0; }

 private:
  static constexpr std::uint32_t claimed_bit = 1, parked_bit = 2;
  atomic<std::uint32_t> word_{claimed_bit};
};

enum class trim_state : std::uint8_t { free, owned, owed };   // trim.cpp

struct goroutine_locals;   // task/goroutine_local.cpp

struct alignas(cache_line) goroutine {
  // ---- line 0: what a switch touches ----
  context saved;                              // while not running; null until it first runs
  goroutine* link = nullptr;                  // I1
  carried_state carried;                      // errno and exception globals, while not running
  machine* bound = nullptr;                   // only this M may run it: thread_lock, or waits for a P there
  atomic<std::int64_t> waiting_since{0};      // sched.coarse_now at the last park; 16 bits count the parks
  goroutine_locals* locals = nullptr;
  atomic<g_status> status{g_status::idle};
  atomic<wait_reason> reason{wait_reason::none};
  bool fp_env = false;                        // attrs: switch MXCSR too
  bool is_thread = false;                     // the G of a foreign thread: park is a futex wait
  bool exiting = false;                       // this_goroutine::exit() is unwinding it
  atomic<trim_state> trim{trim_state::free};  // its stack is being trimmed (trim.cpp)
  std::uint16_t world = 0;                    // which run() it belongs to; 0 for a thread-backed one

  // ---- line 1: identity ----
  stack on_stack;                             // empty until it first runs
  std::uint64_t id = 0;
  std::uint64_t parent_id = 0;
  void* created_at = nullptr;                 // return address in the creator
  std::size_t stack_size = 0;                 // 0: the default
  const char* name = nullptr;                 // attrs, for dumps; the user's static text

  // ---- line 2: birth ----
  [[no_unique_address]] sanitizer::fibre fibre;
  bool is_main = false;
  bool starts_locked = false;                 // attrs.locked: takes a thread_lock before its closure runs
  std::uint8_t outside_align_log2 = 0;        // of a closure that did not fit into the block; 0: it did
  void (*entry)(void*) = nullptr;             // runs and destroys the closure
  static constexpr std::size_t inline_closure_size = std::is_empty_v<sanitizer::fibre> ? 48 : 32;
  alignas(8) std::byte inline_closure[inline_closure_size];   // or the pointer to one outside

  // ---- line 3: waiting; birth leaves it alone (I5) ----
  machine* home = nullptr;                    // is_thread: the M record whose note its thread sleeps on
  wait_word wait;                             // who woke it, when several may
  std::uint32_t lock_depth = 0;               // nested thread_locks
  timer_node timer;                           // its one sleep or timed wait
  std::int64_t trimmed_in = 0;                // the park in which its stack was trimmed; helper thread

  static goroutine* of(timer_node& node) noexcept {
    return reinterpret_cast<goroutine*>(reinterpret_cast<std::byte*>(&node) - offsetof(goroutine, timer));
  }
  bool is_started() const noexcept { return saved.sp != nullptr; }
  void* closure() noexcept {
    return outside_align_log2 == 0 ? inline_closure : *reinterpret_cast<void**>(inline_closure);
  }
};
static_assert(sizeof(goroutine) == 256, "one G is four lines");
static_assert(offsetof(goroutine, on_stack) == 64 && offsetof(goroutine, is_main) >= 128 &&
              offsetof(goroutine, home) == 192);

}  // namespace weft::inline v0::rt
