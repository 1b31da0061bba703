// shared_mutex.hpp — many readers or one writer.
#pragma once
#include <chrono>
#include <cstdint>
#include <mutex>
#include <shared_mutex>
#include <stop_token>
#include <utility>

#include "weft/detail/deadline.hpp"
#include "weft/detail/wait_list.hpp"

namespace weft::inline v0 {

// Go's sync.RWMutex with the interface of std::shared_timed_mutex: std::shared_lock is its RLocker view.
// Writers come first but not always: one that waits keeps new readers out; when a writer leaves, all readers
// that came meanwhile go in, then the next writer. So a reader must not take it twice: a writer in between
// stops both. One that waits parks its goroutine (blocks a plain thread). All functions: from any goroutine
// or thread, and it may be unlocked by another one than locked it. What happens before an unlock is visible
// after each later lock of the other kind, and after a lock() for readers and writers alike. Destroying it
// while somebody waits ends the process.
class shared_mutex {
 public:
  constexpr shared_mutex() noexcept = default;
  ~shared_mutex() {
    writers_.check_destroyed("shared_mutex");
    readers_.check_destroyed("shared_mutex");
  }
  shared_mutex(const shared_mutex&) = delete;
  shared_mutex& operator=(const shared_mutex&) = delete;

  // ---- one writer ----
  // Parks while anybody holds it.
  void lock() {
    if (!try_lock()) [[unlikely]] wait_for(exclusive, {});
  }
  // Does not park. False if anybody holds it.
  bool try_lock() noexcept {
    std::uint32_t seen = 0;
    // [order] acquire pairs with the release of both unlocks.
    return state_.compare_exchange_strong(seen, writer, rt::acquire, rt::relaxed);
  }
  // Park until the deadline at most, or until stop is requested (one that came before the call wins). True:
  // the caller holds it.
  template <class Rep, class Period>
  bool try_lock_for(const std::chrono::duration<Rep, Period>& d) {
    return try_lock() || wait_for(exclusive, {detail::deadline_after(d), nullptr});
  }
  template <class Clock, class Duration>
  bool try_lock_until(const std::chrono::time_point<Clock, Duration>& t) {
    return try_lock() || wait_for(exclusive, {detail::deadline_at(t), nullptr});
  }
  bool lock(std::stop_token stop) {
    if (stop.stop_requested()) return false;
    return try_lock() || wait_for(exclusive, {detail::never, &stop});
  }
  // Does not park and keeps the thread. If no writer holds it: `fatal error: sync: Unlock of unlocked
  // RWMutex`, status 2.
  void unlock() noexcept {
    std::uint32_t seen = writer;
    // [order] release pairs with the acquire of both locks.
    if (!state_.compare_exchange_strong(seen, 0, rt::release, rt::relaxed)) [[unlikely]] unlock_slow();
  }

  // ---- many readers ----
  // Parks while a writer holds it or waits for it.
  void lock_shared() {
    if (!try_lock_shared()) [[unlikely]] wait_for(shared, {});
  }
  // Does not park. False if a writer holds it or waits for it.
  bool try_lock_shared() noexcept {
    std::uint32_t seen = state_.load(rt::relaxed);   // [order] relaxed: the exchange decides
    while (!(seen & (writer | queued)))
      // [order] acquire pairs with unlock().
      if (state_.compare_exchange_weak(seen, seen + reader, rt::acquire, rt::relaxed)) return true;
    return false;
  }
  // As their namesakes above.
  template <class Rep, class Period>
  bool try_lock_shared_for(const std::chrono::duration<Rep, Period>& d) {
    return try_lock_shared() || wait_for(shared, {detail::deadline_after(d), nullptr});
  }
  template <class Clock, class Duration>
  bool try_lock_shared_until(const std::chrono::time_point<Clock, Duration>& t) {
    return try_lock_shared() || wait_for(shared, {detail::deadline_at(t), nullptr});
  }
  bool lock_shared(std::stop_token stop) {
    if (stop.stop_requested()) return false;
    return try_lock_shared() || wait_for(shared, {detail::never, &stop});
  }
  // Does not park and keeps the thread. If no reader holds it: `fatal error: sync: RUnlock of unlocked
  // RWMutex`, status 2.
  void unlock_shared() noexcept {
    std::uint32_t seen = state_.load(rt::relaxed);   // [order] relaxed: the exchange decides
    while (!(seen & queued) && seen >= reader)
      // [order] release pairs with the acquire of lock().
      if (state_.compare_exchange_weak(seen, seen - reader, rt::release, rt::relaxed)) return;
    unlock_shared_slow();
  }

 private:
  // state_: writer: one holds it; queued: somebody waits, every change is made under the lock of writers_;
  // the rest counts the readers that hold it. src/sync/shared_mutex.cpp.
  static constexpr std::uint32_t writer = 1, queued = 2, reader = 4;
  enum kind { shared, exclusive };
  class turn;

  bool wait_for(kind k, const detail::wait_limits& limits);
  void unlock_slow() noexcept;
  void unlock_shared_slow() noexcept;

  rt::atomic<std::uint32_t> state_{0};
  detail::wait_list writers_, readers_;
};

}  // namespace weft::inline v0
