// deadline.hpp — every duration and time point of the public API folds into one instant of the steady clock.
#pragma once
#include <chrono>
#include <cstdint>
#include <limits>
#include <stop_token>

namespace weft::inline v0::detail {

// Nanoseconds of std::chrono::steady_clock (CLOCK_MONOTONIC). What does not fit saturates: "never" or "now".
inline constexpr std::int64_t never = std::numeric_limits<std::int64_t>::max();

template <class Rep, class Period>
constexpr std::int64_t saturated_ns(std::chrono::duration<Rep, Period> d) noexcept {
  using ns = std::chrono::duration<double, std::nano>;
  const double approx = std::chrono::duration_cast<ns>(d).count();
  if (!(approx < 9.2e18)) return never;            // also catches NaN
  if (approx <= 0) return 0;
  // Round up: a wait is never shorter than asked.
  return std::chrono::ceil<std::chrono::nanoseconds>(d).count();
}

inline std::int64_t now_ns() noexcept { return std::chrono::steady_clock::now().time_since_epoch().count(); }

template <class Rep, class Period>
std::int64_t deadline_after(std::chrono::duration<Rep, Period> d) noexcept {
  const std::int64_t ns = saturated_ns(d), now = now_ns();
  return ns >= never - now ? never : now + ns;
}

template <class Clock, class Duration>
std::int64_t deadline_at(const std::chrono::time_point<Clock, Duration>& t) noexcept {
  if constexpr (std::is_same_v<Clock, std::chrono::steady_clock>)
    return saturated_ns(t.time_since_epoch());
  else
    return deadline_after(t - Clock::now());       // other clocks are measured once, at the call
}

// How long and how patiently an operation may wait.
struct wait_limits {
  std::int64_t deadline = never;
  const std::stop_token* stop = nullptr;           // null: no stop request
  bool any() const noexcept { return deadline != never || stop != nullptr; }
};

enum class wait_status : std::uint8_t { done, timed_out, stopped };

}  // namespace weft::inline v0::detail
