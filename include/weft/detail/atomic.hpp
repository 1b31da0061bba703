// atomic.hpp — the one door to atomics, for the public headers and (through base/atomic.hpp) the runtime.
//
// Everything shared between threads is declared with `weft::rt::atomic`, so the same code can be compiled
// against an interleaving checker that replaces this alias.
#pragma once
#include <atomic>

namespace weft::inline v0::rt {

template <class T>
using atomic = std::atomic<T>;

inline constexpr auto relaxed = std::memory_order_relaxed;
inline constexpr auto acquire = std::memory_order_acquire;
inline constexpr auto release = std::memory_order_release;
inline constexpr auto acq_rel = std::memory_order_acq_rel;
inline constexpr auto seq_cst = std::memory_order_seq_cst;

// The asymmetric barrier pair that keeps fences off the hot paths:
//
//   the frequent side            the rare side
//   write A                      write B
//   light_barrier()              heavy_barrier()
//   read  B                      read  A            at least one of the two sees the other's write
//
// heavy_barrier() is membarrier(PRIVATE_EXPEDITED): the kernel runs a full fence on every core that is
// running a thread of this process, so the frequent side needs a compiler fence only. Where membarrier is
// refused (old kernel, seccomp) both become real fences; the choice is made once, before the first thread of
// the runtime.
// Pairs that rely on it: gate/lease (sched/inside.hpp), raw_lock, publish/sleep (sched/wake.cpp), run_next
// (sched/run_queue.hpp), a channel's bias (chan/chan_lock.hpp), arm/poll (sched/timers.cpp), deep sleep
// (sched/sysmon.cpp).

// Set by barrier_init(), constant afterwards. Relaxed is enough: written before any second thread exists.
extern atomic<bool> asymmetric_barriers;

void barrier_init() noexcept;   // registers with the kernel and chooses; idempotent
void heavy_barrier() noexcept;  // about 0.4 us

inline void light_barrier() noexcept {
  if (asymmetric_barriers.load(relaxed)) [[likely]]
    std::atomic_signal_fence(seq_cst);
  else
    std::atomic_thread_fence(seq_cst);
}

}  // namespace weft::inline v0::rt
