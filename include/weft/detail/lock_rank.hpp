// lock_rank.hpp — the one order in which the runtime's locks may be taken: low to high.
//
// Debug builds keep the ranks a thread holds and die at the first lock taken out of order. Two locks of one
// rank are allowed only for `channel`, and there by address (select).
#pragma once
#include <cstdint>

namespace weft::inline v0::rt {

enum class lock_rank : std::uint8_t {
  channel,     // a channel's state and wait queues; never ready() under it
  wait_list,   // the waiters of a mutex, semaphore, condition variable, ...; never ready() under it
  timers,      // one processor's timer heap; never ready() under it
  scheduler,   // global queue, idle lists, counts of threads
  slab,        // the free lists of goroutines, stacks, machines
  leaf,        // takes nothing else
};

// The locks that one thread holds; it lives in the thread's M. Unordered releases are fine.
struct held_locks {
  static constexpr int capacity = 16;
  struct entry {
    const void* lock;
    lock_rank rank;
  };
  int count = 0;
  entry held[capacity];
};
// The upward call: the calling thread's list, or null for a thread that is not to be checked. Installed by
// sched (world.cpp); until then nothing is checked.
using held_locks_port = held_locks* (*)() noexcept;
void set_held_locks_port(held_locks_port port) noexcept;

// The check itself, on a given list: dies at the first lock out of order.
void check_acquired(held_locks& mine, lock_rank rank, const void* lock) noexcept;
void check_released(held_locks& mine, lock_rank rank, const void* lock) noexcept;

// What the locks call; nothing in release builds. `lock` distinguishes two of the same rank.
#ifdef WEFT_DEBUG_CHECKS
void rank_acquired(lock_rank rank, const void* lock) noexcept;
void rank_released(lock_rank rank, const void* lock) noexcept;
#else
inline void rank_acquired(lock_rank, const void*) noexcept {}
inline void rank_released(lock_rank, const void*) noexcept {}
#endif

}  // namespace weft::inline v0::rt
