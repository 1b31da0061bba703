// condition_variable.hpp — wait until another goroutine says that something has changed.
#pragma once
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <stop_token>
#include <utility>

#include "weft/mutex.hpp"

namespace weft::inline v0 {

// Go's sync.Cond with the interface of std::condition_variable_any, for weft::mutex. No spurious wake-ups: a
// wait ends by a notification, its deadline or its stop request. Waiters are woken in the order in which they
// came; one that comes later never takes another's notification. All functions: from any goroutine or thread.
// It makes nothing visible by itself: the mutex does. Destroying it while somebody who was not notified waits
// ends the process; one whose waiters were all notified may be destroyed before they have returned, unless
// their waits are timed or stoppable.
class condition_variable {
 public:
  constexpr condition_variable() noexcept = default;
  ~condition_variable() { list_.check_destroyed("condition_variable"); }
  condition_variable(const condition_variable&) = delete;
  condition_variable& operator=(const condition_variable&) = delete;

  // Do not park and keep the thread. Holding the mutex is allowed, not required. A notification without a
  // waiter is lost.
  void notify_one() noexcept {
    if (!list_.seems_empty()) notify_slow(false);
  }
  void notify_all() noexcept {
    if (!list_.seems_empty()) notify_slow(true);
  }

  // All of these are called with `lock` held, release it, park (block a plain thread), and hold it again when
  // they return or throw. A lock that is not held: std::system_error(operation_not_permitted).
  void wait(std::unique_lock<mutex>& lock) { wait_for_notice(lock, {}); }
  template <class Predicate>
  void wait(std::unique_lock<mutex>& lock, Predicate ready) {
    while (!ready()) wait(lock);
  }

  template <class Clock, class Duration>
  std::cv_status wait_until(std::unique_lock<mutex>& lock,
                            const std::chrono::time_point<Clock, Duration>& t) {
    return wait_until_ns(lock, detail::deadline_at(t));
  }
  template <class Clock, class Duration, class Predicate>
  bool wait_until(std::unique_lock<mutex>& lock, const std::chrono::time_point<Clock, Duration>& t,
                  Predicate ready) {
    return wait_until_ns(lock, {detail::deadline_at(t), nullptr}, ready);
  }
  template <class Rep, class Period>
  std::cv_status wait_for(std::unique_lock<mutex>& lock, const std::chrono::duration<Rep, Period>& d) {
    return wait_until_ns(lock, detail::deadline_after(d));
  }
  template <class Rep, class Period, class Predicate>
  bool wait_for(std::unique_lock<mutex>& lock, const std::chrono::duration<Rep, Period>& d, Predicate ready) {
    return wait_until_ns(lock, {detail::deadline_after(d), nullptr}, ready);
  }

  // Until ready(), or until stop is requested: what ready() says then.
  template <class Predicate>
  bool wait(std::unique_lock<mutex>& lock, std::stop_token stop, Predicate ready) {
    return wait_until_ns(lock, {detail::never, &stop}, ready);
  }
  template <class Clock, class Duration, class Predicate>
  bool wait_until(std::unique_lock<mutex>& lock, std::stop_token stop,
                  const std::chrono::time_point<Clock, Duration>& t, Predicate ready) {
    return wait_until_ns(lock, {detail::deadline_at(t), &stop}, ready);
  }
  template <class Rep, class Period, class Predicate>
  bool wait_for(std::unique_lock<mutex>& lock, std::stop_token stop,
                const std::chrono::duration<Rep, Period>& d, Predicate ready) {
    return wait_until_ns(lock, {detail::deadline_after(d), &stop}, ready);
  }

 private:
  std::cv_status wait_until_ns(std::unique_lock<mutex>& lock, std::int64_t deadline) {
    const bool timed_out = wait_for_notice(lock, {deadline, nullptr}) == detail::wait_status::timed_out;
    return timed_out ? std::cv_status::timeout : std::cv_status::no_timeout;
  }
  template <class Predicate>
  bool wait_until_ns(std::unique_lock<mutex>& lock, const detail::wait_limits& limits, Predicate& ready) {
    while (!ready())
      if (wait_for_notice(lock, limits) != detail::wait_status::done) return ready();
    return true;
  }
  detail::wait_status wait_for_notice(std::unique_lock<mutex>& lock, const detail::wait_limits& limits);
  void notify_slow(bool all) noexcept;

  detail::wait_list list_;
};

}  // namespace weft::inline v0
