// timer.hpp — one event in the future, or one every period: on a channel, or as a goroutine that starts.
//
//   weft::timer t(1s);             t.chan().recv();   // the instant it was due
//   weft::timer u(1s, [] { ... }); u.stop();          // each expiry calls it in a new goroutine
//   weft::ticker k(10ms);          for (auto at : k.chan()) ...
//   select(on_recv(c, f), on_recv(weft::after(1h), g));
//
// The channels are unbuffered to their users (size and capacity 0): a value is the instant at which the timer
// was due, made when somebody receives. So after stop() or reset() has returned, nothing from before can be
// received. A timer takes part in scheduling only while somebody waits on its channel: what is dropped costs
// nothing and keeps no deadlock from being seen. The channel holds the timer, so it goes on after the `timer`
// object is gone (and lives as long as either).
//
// Nothing here parks, all of it may be called from any goroutine or thread, at the same time too. Receiving
// parks. What happens before a timer is started or reset happens before its function runs or its value is
// received.
#pragma once
#include <chrono>
#include <concepts>
#include <functional>
#include <type_traits>
#include <utility>

#include "weft/chan.hpp"
#include "weft/detail/atomic.hpp"
#include "weft/detail/deadline.hpp"
#include "weft/detail/raw_lock.hpp"
#include "weft/detail/start.hpp"

namespace weft::inline v0 {

namespace rt {
struct timer_slot;
struct timer_function_access;
}

namespace detail {

using tick = std::chrono::steady_clock::time_point;

// A channel that gets `when`, and if period > 0 each later when + n * period. Throws std::bad_alloc.
recv_chan<tick> make_timer_channel(std::int64_t when, std::int64_t period);
// Both: true when a value was still to come or was thrown away unreceived. The channel is not nil.
bool stop_timer_channel(const recv_chan<tick>& channel) noexcept;
bool reset_timer_channel(const recv_chan<tick>& channel, std::int64_t when, std::int64_t period) noexcept;

// What a timer with a function calls. Counted: the handle, the armed node, each running goroutine hold one.
class timer_function {
 public:
  using caller = void (*)(timer_function*);
  using destroyer = void (*)(timer_function*) noexcept;

  timer_function(caller call, destroyer destroy);      // throws std::bad_alloc
  bool reset(std::int64_t when) noexcept;              // true: it was armed
  bool stop() noexcept;                                // true: this call prevents a firing
  void release() noexcept;                             // outside

 protected:
  ~timer_function();

 private:
  friend struct rt::timer_function_access;
  rt::ranked_lock<rt::lock_rank::wait_list> lock_;     // orders reset and stop
  rt::atomic<int> references_{1};
  bool node_holds_ = false;                            // the armed node's reference; a fire takes it over
  rt::timer_slot* slot_;
  caller call_;
  destroyer destroy_;
};

template <class F>
class timer_function_of final : public timer_function {
 public:
  template <class G>
  explicit timer_function_of(G&& f)
      : timer_function([](timer_function* p) { std::invoke(static_cast<timer_function_of*>(p)->f_); },
                       [](timer_function* p) noexcept { delete static_cast<timer_function_of*>(p); }),
        f_(std::forward<G>(f)) {}

 private:
  F f_;
};

[[noreturn]] void throw_uninitialized_timer(const char* what);   // std::logic_error
[[noreturn]] void throw_bad_period(const char* what);            // std::invalid_argument

template <class Rep, class Period>
std::int64_t period_of(const std::chrono::duration<Rep, Period>& d, const char* complaint) {
  if (!(d > d.zero())) throw_bad_period(complaint);
  return saturated_ns(d);
}

}  // namespace detail

// One event. A default-constructed or moved-from timer is none: stop() and reset() throw std::logic_error.
class timer {
 public:
  using time_point = detail::tick;

  timer() noexcept = default;
  // Expires once, d from now: at once if d <= 0, never if the clock ends before. Throws std::bad_alloc.
  template <class Rep, class Period>
  explicit timer(const std::chrono::duration<Rep, Period>& d)
      : channel_(detail::make_timer_channel(detail::deadline_after(d), 0)) {}
  // Calls f() in a goroutine of its own at each expiry. An exception that leaves f ends the process. Throws
  // std::bad_alloc and what copying f throws; an empty f: std::bad_function_call.
  template <class Rep, class Period, class F>
    requires std::invocable<std::decay_t<F>&>
  timer(const std::chrono::duration<Rep, Period>& d, F&& f) {
    detail::refuse_nil(f);
    function_ = new detail::timer_function_of<std::decay_t<F>>(std::forward<F>(f));
    function_->reset(detail::deadline_after(d));
  }
  timer(timer&& other) noexcept
      : channel_(std::exchange(other.channel_, {})), function_(std::exchange(other.function_, nullptr)) {}
  timer& operator=(timer&& other) noexcept {
    timer old(std::move(*this));
    channel_ = std::exchange(other.channel_, {});
    function_ = std::exchange(other.function_, nullptr);
    return *this;
  }
  // Stops a timer that has a function (one that runs already goes on). A channel goes on by itself.
  ~timer() {
    if (!function_) return;
    function_->stop();
    function_->release();
  }

  // Where the instant arrives; the nil channel for a timer with a function.
  recv_chan<time_point> chan() const noexcept { return channel_; }

  // True: this call has prevented the event (or has thrown away its value, not yet received). False: it had
  // come already, or had been stopped. Does not wait for the function of an event that has come.
  bool stop() {
    if (function_) return function_->stop();
    if (!channel_) detail::throw_uninitialized_timer("time: Stop called on uninitialized Timer");
    return detail::stop_timer_channel(channel_);
  }

  // Expires d from now instead, or once more. True: as if by stop().
  template <class Rep, class Period>
  bool reset(const std::chrono::duration<Rep, Period>& d) {
    const std::int64_t when = detail::deadline_after(d);
    if (function_) return function_->reset(when);
    if (!channel_) detail::throw_uninitialized_timer("time: Reset called on uninitialized Timer");
    return detail::reset_timer_channel(channel_, when, 0);
  }

 private:
  recv_chan<time_point> channel_;
  detail::timer_function* function_ = nullptr;
};

// An event every period. Ticks that nobody receives in time are dropped, the phase is kept, one may wait.
class ticker {
 public:
  using time_point = detail::tick;

  ticker() noexcept = default;
  // Throws std::invalid_argument when d <= 0, std::bad_alloc.
  template <class Rep, class Period>
  explicit ticker(const std::chrono::duration<Rep, Period>& d) {
    const std::int64_t period = detail::period_of(d, "non-positive interval for NewTicker");
    channel_ = detail::make_timer_channel(detail::deadline_after(d), period);
  }
  ticker(ticker&&) noexcept = default;
  ticker& operator=(ticker&&) noexcept = default;

  recv_chan<time_point> chan() const noexcept { return channel_; }
  // No tick can be received afterwards. The channel stays open: whoever waits goes on waiting.
  void stop() noexcept {
    if (channel_) detail::stop_timer_channel(channel_);
  }
  // The next tick comes d from now, then one every d. Throws std::invalid_argument when d <= 0.
  template <class Rep, class Period>
  void reset(const std::chrono::duration<Rep, Period>& d) {
    const std::int64_t period = detail::period_of(d, "non-positive interval for Ticker.Reset");
    if (!channel_) detail::throw_uninitialized_timer("time: Reset called on uninitialized Ticker");
    detail::reset_timer_channel(channel_, detail::deadline_after(d), period);
  }

 private:
  recv_chan<time_point> channel_;
};

// A channel that gets one value after d: a timer that cannot be stopped. It goes with the channel. Throws
// std::bad_alloc.
template <class Rep, class Period>
[[nodiscard]] recv_chan<detail::tick> after(const std::chrono::duration<Rep, Period>& d) {
  return detail::make_timer_channel(detail::deadline_after(d), 0);
}

// Calls f() in a new goroutine after d, whatever happens: a timer with a function that nobody can stop.
// Throws as the timer's constructor.
template <class Rep, class Period, class F>
  requires std::invocable<std::decay_t<F>&>
void after(const std::chrono::duration<Rep, Period>& d, F&& f) {
  detail::refuse_nil(f);
  auto* function = new detail::timer_function_of<std::decay_t<F>>(std::forward<F>(f));
  function->reset(detail::deadline_after(d));
  function->release();
}

// The channel of a ticker that cannot be stopped; the nil channel when d <= 0. Throws std::bad_alloc.
template <class Rep, class Period>
[[nodiscard]] recv_chan<detail::tick> tick(const std::chrono::duration<Rep, Period>& d) {
  return d > d.zero() ? ticker(d).chan() : recv_chan<detail::tick>();
}

}  // namespace weft::inline v0
