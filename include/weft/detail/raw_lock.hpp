// raw_lock.hpp — the runtime's own lock: 4 bytes, blocks the thread, never the goroutine.
//
//   held_      0 free, 1 held
//   sleepers   how many threads have given up spinning on this lock, or on one that shares its place in a
//              global table
//
// One read-modify-write to take it, a plain store to give it back. The unlocker must not miss a sleeper:
//
//   unlock                            sleep
//   U1  held_ = 0       (release)     S1  sleepers += 1
//   U2  light_barrier()               S2  heavy_barrier()
//   U3  sleepers != 0 -> wake one    S3  exchange held_ with 1: was 0 -> mine, sleepers -= 1
//                                                              was 1 -> futex wait while held_ == 1, S3 again
//
// No sleeper is missed: let S sleep, and X be the holder whose 1 the kernel saw. S2 falls somewhere among X's
// own instructions. Had it fallen after X's U1, S would have seen that, and X would not be the holder it saw;
// so it fell before, and X's U3 sees S1. Only S takes its count back, and only as the holder, so X wakes
// somebody. If that is another thread R: R gets the lock or sees yet another holder, and either of them
// passes its own U3 with S still counted. Whoever barges in between U1 and the wake-up is such a holder too.
// A failed S3 writes 1 over 1: it comes before the plain store of U1, or it would not have failed.
//
// The counts lie outside the locks, so unlock() does not touch the lock after U1: whoever takes it next may
// end it together with the object that it guards (a channel's last handle, a latch on a stack).
//
// Used inside the runtime only: a holder is never preempted by the runtime, at worst by the kernel.
// Not done: the usual three-state futex lock, whose unlock is a second read-modify-write (3 ns on every
// channel operation); ticket locks (a descheduled waiter stops all).
#pragma once
#include <cstddef>
#include <cstdint>

#include "weft/detail/atomic.hpp"
#include "weft/detail/lock_rank.hpp"

namespace weft::inline v0::rt {

class raw_lock {
 public:
  constexpr raw_lock() noexcept = default;
  raw_lock(const raw_lock&) = delete;
  raw_lock& operator=(const raw_lock&) = delete;

  void lock(lock_rank rank) noexcept {
    // [order] acquire pairs with unlock()'s release: the last holder's writes are ours.
    if (held_.exchange(1, acquire) != 0) [[unlikely]] lock_slow();
    rank_acquired(rank, this);
  }
  // Never waits, so it may come out of order; the checker does not follow it.
  // [order] acquire: as in lock(). relaxed: a hint, the exchange decides.
  bool try_lock() noexcept { return held_.load(relaxed) == 0 && held_.exchange(1, acquire) == 0; }
  void unlock(lock_rank rank) noexcept {
    rank_released(rank, this);
    atomic<std::uint32_t>& sleepers = sleepers_of(this);
    held_.store(0, release);
    light_barrier();
    // [order] relaxed: the barrier pair orders it after U1.
    if (sleepers.load(relaxed) != 0) [[unlikely]] wake_slow(this);
  }
  bool is_held() const noexcept { return held_.load(relaxed) != 0; }  // advisory, for checks

 private:
  void lock_slow() noexcept;
  bool spin() noexcept;
  static void wake_slow(raw_lock* perhaps_gone) noexcept;

  static constexpr std::size_t sleeper_counts = 64;
  static atomic<std::uint32_t> sleepers_[sleeper_counts];
  static atomic<std::uint32_t>& sleepers_of(const raw_lock* lock) noexcept {
    return sleepers_[reinterpret_cast<std::uintptr_t>(lock) / 64 % sleeper_counts];
  }

  atomic<std::uint32_t> held_{0};
};

template <lock_rank Rank>
class ranked_lock {   // a raw_lock whose place in the order is part of its type
 public:
  constexpr ranked_lock() noexcept = default;
  void lock() noexcept { lock_.lock(Rank); }
  bool try_lock() noexcept { return lock_.try_lock(); }
  void unlock() noexcept { lock_.unlock(Rank); }
  bool is_held() const noexcept { return lock_.is_held(); }

 private:
  raw_lock lock_;
};

template <class Lock>
class [[nodiscard]] locked {  // std::lock_guard without <mutex>
 public:
  explicit locked(Lock& lock) noexcept : lock_(lock) { lock_.lock(); }
  ~locked() { lock_.unlock(); }
  locked(const locked&) = delete;
  locked& operator=(const locked&) = delete;

 private:
  Lock& lock_;
};

}  // namespace weft::inline v0::rt
