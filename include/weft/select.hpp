// select.hpp — wait for the first of several sends and receives.
//
//   std::size_t fired = weft::select(weft::on_recv(in, [&](std::optional<int> v) { ... }),   // 0
//                                    weft::on_send(out, 42, [] { ... }),                     // 1
//                                    weft::on_timeout(50ms, [] { ... }),                     // 2
//                                    weft::on_stop(token, weft::nothing));                   // 3
//
// One case fires: if several can go at once, each with the same probability. The decision is made at one
// instant for all channels. Then its handler runs, in the calling goroutine, after the operation and outside
// the runtime: it may do anything. select returns the position of the case, so `switch (weft::select(...))`
// with break, continue and return works too.
//
//   on_recv(c, f)      f(std::optional<T>), or f(). Fires also when c is closed and empty: nullopt.
//   on_send(c, v, f)   f(). v is evaluated by the call, sent or not, as in Go; an rvalue is moved from only
//                      if it is sent. If c is closed the case fires by throwing channel_closed.
//   on_timeout(d, f)   f(), when nothing else could go before d has passed (or the time point was reached).
//                      With d <= 0: as otherwise(). Of several the earliest counts.
//   on_stop(token, f)  f(), when a stop is requested. If it has been already: one more case that can go.
//                      At most one.
//   otherwise(f)       f(), if nothing can go at once: the select does not wait. At most one.
//
// A nil channel's case never fires. Without any case that could: waits for ever. One goroutine's cases never
// meet each other, even a send and a receive on one channel. Values and visibility: as in chan.hpp.
//
// The cases are made for one call and used up by it: they refer to the channel handle and to v. Sets of cases
// that are known at run time only: selector (selector.hpp).
#pragma once
#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <stop_token>
#include <type_traits>
#include <utility>

#include "weft/chan.hpp"
#include "weft/detail/select_case.hpp"

namespace weft::inline v0 {

// The handler that does nothing.
struct nothing_t {
  template <class... Args>
  constexpr void operator()(Args&&...) const noexcept {}
};
inline constexpr nothing_t nothing{};

namespace detail {

template <class C>
concept receiving = std::derived_from<C, recv_side<typename C::value_type, C>>;
template <class C>
concept sending = std::derived_from<C, send_side<typename C::value_type, C>>;

enum class case_kind : std::uint8_t { channel, timeout, stop, otherwise };

template <class T, class F>
void call_receiver(F& f, std::optional<T>&& value) {
  if constexpr (std::invocable<F&, std::optional<T>>)
    std::invoke(f, std::move(value));
  else
    std::invoke(f);
}
template <class F, class T>
concept receiver_of = std::invocable<F&, std::optional<T>> || std::invocable<F&>;

template <class T, class F>
class recv_case {
 public:
  static constexpr case_kind kind = case_kind::channel;
  recv_case(rt::chan_core* core, F&& f) : core_(core), handler_(std::forward<F>(f)) {}
  void prepare(rt::select_case& c) noexcept { c = {.core = core_, .slot = in_.place()}; }
  void pass() noexcept {}
  void fire(bool ok) { call_receiver<T>(handler_, ok ? in_.take() : std::nullopt); }

 private:
  rt::chan_core* core_;
  incoming<T> in_;
  F handler_;
};

// `Value` is T (a copy of its own), T& (to be moved from if sent) or const T&.
template <class T, class Value, class F>
class send_case {
 public:
  static constexpr case_kind kind = case_kind::channel;
  template <class V>
  send_case(rt::chan_core* core, V&& value, F&& f)
      : core_(core), value_(static_cast<Value>(value)), handler_(std::forward<F>(f)) {}
  void prepare(rt::select_case& c) {
    out_.emplace(value_);
    c = {.core = core_, .slot = const_cast<void*>(out_->data()), .is_send = true};
  }
  void pass() { if (out_) out_->keep(value_); }
  void fire(bool ok) {
    if (!ok) {
      pass();
      throw_channel_closed();
    }
    out_->sent();
    std::invoke(handler_);
  }

 private:
  rt::chan_core* core_;
  Value value_;
  std::optional<outgoing<T>> out_;
  F handler_;
};

// How a case holds its value: small ones and converted ones itself, others by reference.
template <class T, class V>
using held_value = std::conditional_t<
    travels_as_bytes<T> || !std::same_as<std::remove_cvref_t<V>, T>, T,
    std::conditional_t<std::is_lvalue_reference_v<V> || std::is_const_v<std::remove_reference_t<V>>,
                       const T&, T&>>;

template <case_kind Kind, class Limit, class F>
struct plain_case {   // no channel
  static constexpr case_kind kind = Kind;
  Limit limit;        // deadline in ns, stop token, or nothing
  F handler;
  void pass() noexcept {}
  void fire(bool) { std::invoke(handler); }
};

template <class C>
inline constexpr bool is_select_case = requires { std::remove_cvref_t<C>::kind; };

template <case_kind Kind, class... Cases>
inline constexpr std::size_t cases_of_kind =
    (std::size_t{0} + ... + (std::remove_cvref_t<Cases>::kind == Kind));

// One run of a select: collects the cases, finds out which position fired.
template <std::size_t Channels>
class select_run {
 public:
  template <class Case>
  void add(Case& c) {
    if constexpr (Case::kind == case_kind::channel) {
      positions_[used_] = next_;
      c.prepare(list_[used_++]);
    } else if constexpr (Case::kind == case_kind::timeout) {
      if (c.limit <= limits_.deadline) {
        limits_.deadline = c.limit;
        timeout_at_ = next_;
      }
    } else if constexpr (Case::kind == case_kind::stop) {
      limits_.stop = &c.limit;
      stop_at_ = next_;
    } else {
      waits_ = false;
      otherwise_at_ = next_;
    }
    ++next_;
  }
  std::size_t run() {
    alignas(void*) std::byte scratch[rt::select_scratch_size(Channels)];
    const std::uint32_t fired = rt::select_run({list_, Channels, waits_, scratch, limits_});
    if (fired == rt::select_otherwise) return otherwise_at_;
    if (fired == rt::select_timed_out) return timeout_at_;
    if (fired == rt::select_stopped) return stop_at_;
    ok_ = list_[fired].ok;
    return positions_[fired];
  }
  bool ok() const noexcept { return ok_; }

 private:
  rt::select_case list_[Channels == 0 ? 1 : Channels];
  std::size_t positions_[Channels == 0 ? 1 : Channels];
  std::uint32_t used_ = 0;
  bool waits_ = true, ok_ = false;
  wait_limits limits_;
  std::size_t next_ = 0, timeout_at_ = 0, stop_at_ = 0, otherwise_at_ = 0;
};

}  // namespace detail

template <class C, class F>
  requires detail::receiving<C> && detail::receiver_of<F, typename C::value_type>
[[nodiscard]] auto on_recv(const C& c, F&& f) {
  return detail::recv_case<typename C::value_type, F>(detail::chan_access::core(c), std::forward<F>(f));
}

template <class C, class V, class F>
  requires detail::sending<C> && std::convertible_to<V&&, typename C::value_type> && std::invocable<F&>
[[nodiscard]] auto on_send(const C& c, V&& value, F&& f) {
  using T = typename C::value_type;
  return detail::send_case<T, detail::held_value<T, V>, F>(detail::chan_access::core(c),
                                                           std::forward<V>(value), std::forward<F>(f));
}

template <class Rep, class Period, std::invocable F>
[[nodiscard]] auto on_timeout(const std::chrono::duration<Rep, Period>& d, F&& f) {
  return detail::plain_case<detail::case_kind::timeout, std::int64_t, F>{detail::deadline_after(d),
                                                                         std::forward<F>(f)};
}
template <class Clock, class Duration, std::invocable F>
[[nodiscard]] auto on_timeout(const std::chrono::time_point<Clock, Duration>& t, F&& f) {
  return detail::plain_case<detail::case_kind::timeout, std::int64_t, F>{detail::deadline_at(t),
                                                                         std::forward<F>(f)};
}

template <std::invocable F>
[[nodiscard]] auto on_stop(std::stop_token token, F&& f) {
  return detail::plain_case<detail::case_kind::stop, std::stop_token, F>{std::move(token),
                                                                         std::forward<F>(f)};
}

template <std::invocable F>
[[nodiscard]] auto otherwise(F&& f) {
  return detail::plain_case<detail::case_kind::otherwise, char, F>{0, std::forward<F>(f)};
}

// Fires one case, calls its handler, returns its position (above). Parks, unless there is an otherwise(). Any
// goroutine or thread. Throws channel_closed (a send case on a closed channel), what building the values
// throws (then nothing has happened), and what the handler throws.
template <class... Cases>
  requires(detail::is_select_case<Cases> && ...)
std::size_t select(Cases&&... cases) {
  using detail::case_kind;
  static_assert(detail::cases_of_kind<case_kind::otherwise, Cases...> <= 1, "at most one otherwise()");
  static_assert(detail::cases_of_kind<case_kind::stop, Cases...> <= 1, "at most one on_stop()");
  detail::select_run<detail::cases_of_kind<case_kind::channel, Cases...>> run;
  std::size_t fired;
  try {
    (run.add(cases), ...);
    fired = run.run();
  } catch (...) {
    (cases.pass(), ...);
    throw;
  }
  std::size_t position = 0;
  ((position++ == fired ? void() : cases.pass()), ...);
  position = 0;
  static_cast<void>(((position++ == fired && (cases.fire(run.ok()), true)) || ...));
  return fired;
}

}  // namespace weft::inline v0
