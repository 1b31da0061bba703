// latch.hpp — a counter that goes down once; everybody waits for zero.
#pragma once
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <stop_token>

#include "weft/detail/deadline.hpp"
#include "weft/detail/wait_list.hpp"

namespace weft::inline v0 {

// std::latch. One that waits parks its goroutine (blocks a plain thread). All functions: from any goroutine
// or thread. What happens before a count_down() is visible to everybody whose wait it ended. The last waiter
// may destroy it at once.
class latch {
 public:
  static constexpr std::ptrdiff_t max() noexcept { return PTRDIFF_MAX / 2; }

  // 0 <= expected <= max().
  explicit constexpr latch(std::ptrdiff_t expected) noexcept : word_(expected * one) {}
  ~latch() { list_.check_destroyed("latch"); }
  latch(const latch&) = delete;
  latch& operator=(const latch&) = delete;

  // Does not park and keeps the thread. n must not exceed what is left.
  void count_down(std::ptrdiff_t n = 1) noexcept {
    std::int64_t seen = word_.load(rt::relaxed);   // [order] relaxed: the exchange decides
    while (seen != n * one + waiters)
      // [order] release pairs with try_wait(): all count_downs are one release sequence.
      if (word_.compare_exchange_weak(seen, seen - n * one, rt::release, rt::relaxed)) return;
    finish(n);
  }
  // Does not park.
  // [order] acquire pairs with count_down().
  bool try_wait() const noexcept { return word_.load(rt::acquire) < one; }

  // Parks until the counter is zero.
  void wait() const {
    if (!try_wait()) [[unlikely]] wait_slow({});
  }
  void arrive_and_wait(std::ptrdiff_t n = 1) {
    count_down(n);
    wait();
  }
  // Park until then, the deadline or a stop request at most. Whether the counter is zero.
  template <class Rep, class Period>
  bool wait_for(const std::chrono::duration<Rep, Period>& d) const {
    return try_wait() || wait_slow({detail::deadline_after(d), nullptr});
  }
  template <class Clock, class Duration>
  bool wait_until(const std::chrono::time_point<Clock, Duration>& t) const {
    return try_wait() || wait_slow({detail::deadline_at(t), nullptr});
  }
  bool wait(std::stop_token stop) const { return try_wait() || wait_slow({detail::never, &stop}); }

 private:
  // word_: counter * 2 + waiters: the list may have some.
  static constexpr std::int64_t waiters = 1, one = 2;
  bool wait_slow(const detail::wait_limits& limits) const;
  void finish(std::ptrdiff_t n) noexcept;

  mutable rt::atomic<std::int64_t> word_;
  mutable detail::wait_list list_;
};

}  // namespace weft::inline v0
