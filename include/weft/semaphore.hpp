// semaphore.hpp — a number of tokens; whoever finds too few waits in line.
#pragma once
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <stop_token>
#include <utility>

#include "weft/detail/deadline.hpp"
#include "weft/detail/wait_list.hpp"

namespace weft::inline v0 {
namespace detail {

class semaphore_core {
 public:
  explicit constexpr semaphore_core(std::int64_t tokens) noexcept : word_(tokens * token) {}
  ~semaphore_core() { list_.check_destroyed("semaphore"); }

  bool try_acquire(std::int64_t n) noexcept {
    std::int64_t seen = word_.load(rt::relaxed);   // [order] relaxed: the exchange decides
    while (!(seen & queued) && n <= seen / token)
      // [order] acquire pairs with release().
      if (word_.compare_exchange_weak(seen, seen - n * token, rt::acquire, rt::relaxed)) return true;
    return false;
  }
  // Parks until served. More than max: waits for the limits only.
  bool acquire_slow(std::int64_t n, std::int64_t max, const wait_limits& limits);

  void release(std::int64_t n, std::int64_t max) {
    std::int64_t seen = word_.load(rt::relaxed);   // [order] relaxed: the exchange decides
    while (!(seen & queued) && n >= 0 && n <= max - seen / token)
      // [order] release pairs with try_acquire().
      if (word_.compare_exchange_weak(seen, seen + n * token, rt::release, rt::relaxed)) return;
    release_slow(n, max);
  }

 private:
  // word_: tokens * 2 + queued. While somebody is queued it changes under the list's lock only.
  // src/sync/semaphore.cpp.
  static constexpr std::int64_t queued = 1, token = 2;
  void release_slow(std::int64_t n, std::int64_t max);
  class turn;

  rt::atomic<std::int64_t> word_;
  wait_list list_;
};

}  // namespace detail

// std::counting_semaphore, and Go's x/sync/semaphore.Weighted when used with n > 1. Strictly first come,
// first served: one that wants many tokens is not overtaken by others that want few. One that waits parks its
// goroutine (blocks a plain thread). All functions: from any goroutine or thread. What happens before
// release() is visible to whoever acquires the tokens. Destroying it while somebody waits ends the process.
template <std::ptrdiff_t LeastMaxValue = PTRDIFF_MAX / 4>
class counting_semaphore {
  static_assert(LeastMaxValue >= 0 && LeastMaxValue <= PTRDIFF_MAX / 4);

 public:
  static constexpr std::ptrdiff_t max() noexcept { return LeastMaxValue; }

  // 0 <= desired <= max().
  explicit constexpr counting_semaphore(std::ptrdiff_t desired) noexcept : core_(desired) {}
  counting_semaphore(const counting_semaphore&) = delete;
  counting_semaphore& operator=(const counting_semaphore&) = delete;

  // Does not park and keeps the thread. Throws std::logic_error("semaphore: released more than held") if
  // there would be more than max() tokens, and then changes nothing.
  void release(std::ptrdiff_t n = 1) { core_.release(n, max()); }

  // Parks until there are n tokens and nobody is before us. For n > max(): parks for ever.
  void acquire(std::ptrdiff_t n = 1) {
    if (!core_.try_acquire(n)) [[unlikely]] core_.acquire_slow(n, max(), {});
  }
  // Does not park. False if there are fewer than n tokens or others wait.
  bool try_acquire(std::ptrdiff_t n = 1) noexcept { return core_.try_acquire(n); }

  // Park as acquire(), until the deadline at most, or until stop is requested (one that came before the call
  // wins). Whether acquired. More than max() are waited for in vain, without standing in anybody's way.
  template <class Rep, class Period>
  bool try_acquire_for(const std::chrono::duration<Rep, Period>& d, std::ptrdiff_t n = 1) {
    return core_.try_acquire(n) || core_.acquire_slow(n, max(), {detail::deadline_after(d), nullptr});
  }
  template <class Clock, class Duration>
  bool try_acquire_until(const std::chrono::time_point<Clock, Duration>& t, std::ptrdiff_t n = 1) {
    return core_.try_acquire(n) || core_.acquire_slow(n, max(), {detail::deadline_at(t), nullptr});
  }
  bool acquire(std::stop_token stop) { return acquire(1, std::move(stop)); }
  bool acquire(std::ptrdiff_t n, std::stop_token stop) {
    if (stop.stop_requested()) return false;
    return core_.try_acquire(n) || core_.acquire_slow(n, max(), {detail::never, &stop});
  }

 private:
  detail::semaphore_core core_;
};

using binary_semaphore = counting_semaphore<1>;

}  // namespace weft::inline v0
