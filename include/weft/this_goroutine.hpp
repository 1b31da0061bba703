// this_goroutine.hpp — what a goroutine says about itself: id, yield, sleep, exit; and staying on one thread.
#pragma once
#include <chrono>
#include <cstdint>

#include "weft/detail/deadline.hpp"

namespace weft::inline v0 {

// What exit() throws. Catch it only to rethrow it: a goroutine that swallows it ends at its next park.
class goroutine_exit {
 public:
  goroutine_exit(const goroutine_exit&) noexcept = default;
 private:
  friend struct exit_access;
  goroutine_exit() noexcept = default;
};

namespace detail {
void sleep_until_ns(std::int64_t deadline);
}

namespace this_goroutine {

// Unique while the process lives, never reused; the main goroutine of the first world is 1. Does not park.
// On a thread that the runtime did not start: an id of its own.
std::uint64_t id() noexcept;

// Lets others run: to the tail of the local queue. May change the thread. On a plain thread: sched_yield.
void yield();

// Ends the calling goroutine after unwinding it: destructors run. Deadlock text if the main goroutine exits
// and nothing is left. On a plain thread: fatal, as in Go. May not be called from a destructor during
// unwinding or a noexcept function.
[[noreturn]] void exit();

// Never returns early; <= 0 returns at once without yielding. Parks. On a plain thread: blocks the thread.
template <class Rep, class Period>
void sleep_for(const std::chrono::duration<Rep, Period>& d) {
  if (d > d.zero()) detail::sleep_until_ns(detail::deadline_after(d));
}
template <class Clock, class Duration>
void sleep_until(const std::chrono::time_point<Clock, Duration>& t) {
  if (std::int64_t at = detail::deadline_at(t); at > detail::now_ns()) detail::sleep_until_ns(at);
}

}  // namespace this_goroutine

// While one exists, the goroutine runs on one thread and nothing else runs there (Go's LockOSThread; counted,
// so they nest). One that ends locked takes its thread with it. No-op on a plain thread. Does not park.
class [[nodiscard]] thread_lock {
 public:
  thread_lock();
  ~thread_lock();
  thread_lock(const thread_lock&) = delete;
  thread_lock& operator=(const thread_lock&) = delete;
};

}  // namespace weft::inline v0
