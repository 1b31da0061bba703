// park.hpp — the one way to block and the one way to wake. All calls are made inside (inside.hpp).
//
//   parking goroutine                                  whoever is resumed next on this M
//   status = waiting                                   commit(arg)      <- only now may it be woken
//   leave {commit, arg} on the M, switch away
//
// The commit publishes the parked goroutine: it releases the lock under which the waiter was queued, or sets
// the parked bit. It is noexcept, runs inside on another stack, and cannot refuse: check before parking.
#pragma once
#include "sched/goroutine.hpp"
#include "sched/ready_batch.hpp"

namespace weft::inline v0::rt {

using commit_fn = void (*)(void* arg) noexcept;

// The calling thread's goroutine (thread-backed if the runtime did not start the thread). Never null inside.
goroutine* current() noexcept;

// Parks the calling goroutine until ready(). Returns inside, perhaps on another thread.
void park(wait_reason reason, commit_fn commit, void* arg) noexcept;

// The same for a thread-backed goroutine whose wait has a deadline: it claims gp->wait for the time-out.
void park_thread_until(wait_reason reason, commit_fn commit, void* arg, std::int64_t deadline) noexcept;

// Makes a parked goroutine runnable: it takes run_next of the caller's P (Go's rule: it inherits the rest of
// the slice). Holding no channel, wait-list or timer lock. Exactly one call per park.
void ready(goroutine* gp) noexcept;
void ready_all(ready_batch& batch) noexcept;   // in order, and it empties the batch

// The calling goroutine goes to the tail of the local queue; behind the global one when others wait there.
void yield() noexcept;
// Runs `gp`, just taken out of a wait queue and claimed, at once; the caller goes to the local tail: how a
// starving lock is handed over (Go's goyield after a hand-off).
void ready_and_yield(goroutine* gp) noexcept;

// A goroutine that the first ready() starts; it calls entry(p), where *(void**)p == arg. Under any lock below
// `slab`. Null: there is no world yet, or memory has run out.
goroutine* newborn(void (*entry)(void*), void* arg) noexcept;

// Parks for ever: nil channels, select without cases.
[[noreturn]] void park_for_ever(wait_reason reason) noexcept;

}  // namespace weft::inline v0::rt
