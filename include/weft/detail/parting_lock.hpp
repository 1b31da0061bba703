// parting_lock.hpp — a thread lock that its unlocker never touches again: whoever gets it next may destroy
// the object that contains it. 4 bytes, constexpr.
//
//   0 free, 1 held, 2 held and perhaps somebody sleeps
//
// unlock() is one exchange; a wake-up that follows uses the address only (a futex call on memory that is gone
// does nothing, at worst wakes a sleeper for nothing). raw_lock is cheaper to unlock but looks at its memory
// once more; sync types are destroyed by the goroutine that was just let in, so their wait lists need this
// one.
#pragma once
#include <cstdint>

#include "weft/detail/atomic.hpp"
#include "weft/detail/lock_rank.hpp"

namespace weft::inline v0::rt {

class parting_lock {
 public:
  constexpr parting_lock() noexcept = default;
  parting_lock(const parting_lock&) = delete;
  parting_lock& operator=(const parting_lock&) = delete;

  void lock(lock_rank rank) noexcept {
    std::uint32_t seen = free;
    // [order] acquire pairs with unlock()'s release: the last holder's writes are ours.
    if (!word_.compare_exchange_strong(seen, held, acquire, relaxed)) [[unlikely]] lock_slow();
    rank_acquired(rank, this);
  }
  void unlock(lock_rank rank) noexcept {
    rank_released(rank, this);
    if (word_.exchange(free, release) == contended) [[unlikely]] wake(&word_);   // [order] pairs with lock()
  }

 private:
  static constexpr std::uint32_t free = 0, held = 1, contended = 2;
  void lock_slow() noexcept;
  static void wake(const atomic<std::uint32_t>* address) noexcept;

  atomic<std::uint32_t> word_{free};
};

}  // namespace weft::inline v0::rt
