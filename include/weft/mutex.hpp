// mutex.hpp — mutual exclusion for goroutines and threads alike.
#pragma once
#include <chrono>
#include <cstdint>
#include <mutex>
#include <stop_token>
#include <utility>

#include "weft/detail/deadline.hpp"
#include "weft/detail/wait_list.hpp"

namespace weft::inline v0 {

class mutex;
namespace detail {
bool lock_within(mutex& m, const wait_limits& limits);   // for streams; false: timed out or stopped
}

// Go's sync.Mutex with the interface of std::timed_mutex: works with std::lock_guard, std::unique_lock,
// std::scoped_lock. One that waits parks its goroutine (blocks a plain thread). Newcomers compete with the
// one just woken until somebody has waited for 1 ms; then the lock is handed over in order. Not recursive;
// not owned: any goroutine may unlock. All functions: from any goroutine or thread. What happens before
// unlock() is visible after the next successful lock. Destroying it while somebody waits ends the process; as
// soon as a lock call has returned, its caller may unlock and destroy it, even if the unlock() that let it in
// is still on its way out.
class mutex {
 public:
  constexpr mutex() noexcept = default;
  ~mutex() { list_.check_destroyed("mutex"); }
  mutex(const mutex&) = delete;
  mutex& operator=(const mutex&) = delete;

  // Parks while the mutex is locked.
  void lock() {
    if (!take_free() && !try_lock()) [[unlikely]] lock_slow();
  }

  // Does not park. False if it is locked.
  bool try_lock() noexcept {
    std::uint32_t seen = state_.load(rt::relaxed);   // [order] relaxed: the exchange decides
    while (!(seen & locked))
      // [order] acquire as in take_free().
      if (state_.compare_exchange_weak(seen, seen | locked, rt::acquire, rt::relaxed)) return true;
    return false;
  }

  // Park while the mutex is locked, until the deadline at most. True: the caller holds it.
  template <class Rep, class Period>
  bool try_lock_for(const std::chrono::duration<Rep, Period>& d) {
    return take_free() || lock_slow({detail::deadline_after(d), nullptr});
  }
  template <class Clock, class Duration>
  bool try_lock_until(const std::chrono::time_point<Clock, Duration>& t) {
    return take_free() || lock_slow({detail::deadline_at(t), nullptr});
  }

  // Parks while the mutex is locked, until stop is requested. True: the caller holds it. A request that came
  // before the call wins over a free mutex.
  bool lock(std::stop_token stop) {
    if (stop.stop_requested()) return false;
    return take_free() || lock_slow({detail::never, &stop});
  }

  // Does not park and keeps the thread. Of an unlocked mutex: `fatal error: sync: unlock of unlocked mutex`,
  // exit status 2.
  void unlock() noexcept {
    std::uint32_t seen = locked;   // guessed, not loaded: a load stalls on the store of lock()
    // [order] release pairs with take_free(): the next holder sees this one's writes.
    if (state_.compare_exchange_strong(seen, 0, rt::release, rt::relaxed)) [[likely]] return;
    while (is_free_to_leave(seen))
      if (state_.compare_exchange_weak(seen, seen & ~locked, rt::release, rt::relaxed)) return;
    unlock_slow();
  }

 private:
  // state_: locked; woken: somebody awake competes, do not wake another; starving: hand over, in order;
  // waiters: the list may have some. src/sync/mutex.cpp.
  static constexpr std::uint32_t locked = 1, woken = 2, starving = 4, waiters = 8;
  class contender;
  friend bool detail::lock_within(mutex& m, const detail::wait_limits& limits);

  bool take_free() noexcept {
    std::uint32_t seen = 0;
    // [order] acquire pairs with unlock()'s release.
    return state_.compare_exchange_strong(seen, locked, rt::acquire, rt::relaxed);
  }
  // Locked, and nobody has to be woken: nobody waits, or somebody who is awake already competes.
  static bool is_free_to_leave(std::uint32_t seen) noexcept {
    return (seen & locked) && !(seen & starving) && (!(seen & waiters) || (seen & woken));
  }
  void lock_slow();
  bool lock_slow(const detail::wait_limits& limits);
  void unlock_slow() noexcept;

  rt::atomic<std::uint32_t> state_{0};   // first: its address stands for the mutex (sanitizer::hb_release)
  detail::wait_list list_;
};

inline bool detail::lock_within(mutex& m, const wait_limits& limits) {
  return m.take_free() || m.lock_slow(limits);
}

}  // namespace weft::inline v0
