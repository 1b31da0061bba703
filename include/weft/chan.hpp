// chan.hpp — channels: chan<T>, its halves send_chan<T> and recv_chan<T>, make_chan<T>(n).
//
//   auto jobs = weft::make_chan<int>(64);                    // 0, the default: unbuffered, both sides meet
//   weft::go([jobs] { for (int i = 0; i < 9; ++i) jobs.send(i); jobs.close(); });
//   for (int job : jobs) std::printf("%d\n", job);           // until it is closed and empty
//
// Handles: copies share one channel and cost one atomic increment; all operations are const. A
// default-constructed handle is the nil channel: sends and receives on it wait for ever, a select never takes
// it, close throws. An operation keeps no reference of its own: the handle it is called through must outlive
// the call.
//
// Who may call: any goroutine and any thread, for every function here, also before run(). "Parks" means that
// a goroutine waits and lets others run (it may continue on another thread); a plain thread blocks.
//
// Visibility (Go's memory model; C is the capacity):
//   a send happens before the receive of its value completes
//   the k-th receive happens before the (k+C)-th send completes
//   close happens before a receive that reports it
//
// Values: T needs a move constructor. Its constructors, moves and destructor run in the sender's or the
// receiver's goroutine, never inside the channel: they may allocate, throw or use the same channel. A copy or
// move that throws while sending leaves the channel as it was; one that throws while receiving loses that
// value. Small trivially copyable values (64 bytes) take no allocation, all others take one each. Values that
// nobody received are destroyed with the last handle.
//
// Fairness: waiting senders and waiting receivers are served first come, first served; close wakes all in any
// order.
#pragma once
#include <chrono>
#include <cstddef>
#include <functional>
#include <iterator>
#include <optional>
#include <ranges>
#include <stop_token>
#include <utility>

#include "weft/detail/chan_core.hpp"
#include "weft/detail/chan_iterator.hpp"
#include "weft/detail/chan_value.hpp"
#include "weft/detail/deadline.hpp"
#include "weft/error.hpp"
#include "weft/result.hpp"

namespace weft::inline v0 {

template <class T>
class chan;
template <class T>
class send_chan;
template <class T>
class recv_chan;

// A channel with room for n values. Does not park. Throws std::length_error ("makechan: size out of range")
// when n is negative or 2^32 or more, or when the buffer is larger than the address space; std::bad_alloc.
template <class T>
chan<T> make_chan(std::ptrdiff_t n = 0);

namespace detail {

// What all handles have. None of this parks.
template <class T>
class chan_handle {
 public:
  using value_type = T;

  // How many values are in the buffer (those of waiting senders are not), and how many fit. 0 for nil. When
  // the call returns, size() may be different again. A timer's channel is unbuffered to its users: 0 and 0.
  std::size_t size() const noexcept {
    return core() && !core()->timed ? core()->count.load(rt::relaxed) : 0;   // [order] relaxed: advisory
  }
  std::size_t capacity() const noexcept { return core() && !core()->timed ? core()->capacity : 0; }
  // No further send will succeed; true once is true for ever.
  bool is_closed() const noexcept {
    return core() && core()->closed.load(rt::acquire);   // [order] acquire: pairs with close
  }
  explicit operator bool() const noexcept { return core() != nullptr; }   // false: the nil channel

  // The same channel (or both nil), also between a chan and its halves.
  friend bool operator==(const chan_handle& a, const chan_handle& b) noexcept { return a.core() == b.core(); }

 protected:
  chan_handle() noexcept = default;
  explicit chan_handle(rt::chan_ref ref) noexcept : ref_(std::move(ref)) {}
  rt::chan_core* core() const noexcept { return ref_.get(); }
  rt::chan_ref ref_;
  friend struct chan_access;
};

struct chan_access {   // for select and timers
  template <class T>
  static chan<T> adopt(rt::chan_core* c) noexcept { return chan<T>(c); }
  template <class T>
  static rt::chan_core* core(const chan_handle<T>& c) noexcept { return c.core(); }
  template <class T>
  static const rt::chan_ref& ref(const chan_handle<T>& c) noexcept { return c.ref_; }
};

template <class Handle>
struct handle_hash {   // that of its channel: equal for all its handles
  std::size_t operator()(const Handle& c) const noexcept {
    return std::hash<const void*>()(chan_access::core(c));
  }
};

template <class T, class Handle>
class send_side {
 public:
  // Sends; parks until the value is in the buffer or with a receiver. Throws channel_closed when the channel
  // is closed, before or meanwhile, and what building the value throws. On nil: for ever.
  void send(T value) const {
    rt::chan_core* c = core();
    if (!c) [[unlikely]] rt::chan_send_nil();
    outgoing<T> out(value);
    if (!rt::chan_send(c, out.data())) [[unlikely]] throw_channel_closed();
    out.sent();
  }

  // Do not park. errc::full when a send would have waited (always on nil); `value` is moved only if it is
  // sent. Throw as send().
  result<void> try_send(T&& value) const { return try_send_any(value); }
  result<void> try_send(const T& value) const { return try_send_any(value); }

  // Park at most so long: errc::timed_out. A send that need not wait succeeds whatever the limit. `value` is
  // moved only if it is sent. Throw as send().
  template <class Rep, class Period>
  result<void> send_for(T&& value, const std::chrono::duration<Rep, Period>& d) const {
    return send_within(value, {.deadline = deadline_after(d)});
  }
  template <class Rep, class Period>
  result<void> send_for(const T& value, const std::chrono::duration<Rep, Period>& d) const {
    return send_within(value, {.deadline = deadline_after(d)});
  }
  template <class Clock, class Duration>
  result<void> send_until(T&& value, const std::chrono::time_point<Clock, Duration>& t) const {
    return send_within(value, {.deadline = deadline_at(t)});
  }
  template <class Clock, class Duration>
  result<void> send_until(const T& value, const std::chrono::time_point<Clock, Duration>& t) const {
    return send_within(value, {.deadline = deadline_at(t)});
  }

  // Park until a stop is requested: errc::stopped, at once if it has been already. Else as send_for.
  result<void> send(T&& value, const std::stop_token& stop) const {
    return send_within(value, {.stop = &stop});
  }
  result<void> send(const T& value, const std::stop_token& stop) const {
    return send_within(value, {.stop = &stop});
  }

  // No more sends: receivers get what is in the buffer and then nothing; all who wait are woken. Does not
  // park. Throws std::logic_error: "close of nil channel", "close of closed channel".
  void close() const {
    if (!core()) throw_close_of_nil();
    if (!rt::chan_close(core())) throw_close_of_closed();
  }
  // The same without complaint. True: this call closed it.
  bool try_close() const noexcept { return core() && rt::chan_close(core()); }

 private:
  rt::chan_core* core() const noexcept { return chan_access::core(static_cast<const Handle&>(*this)); }

  template <class From>
  result<void> try_send_any(From& value) const {
    rt::chan_core* c = core();
    if (!c || c->send_would_block()) return rt::chan_polled(), errc::full;   // before anything is built
    outgoing<T> out(value);
    return finish(rt::chan_try_send(c, out.data()), out, value);
  }
  template <class From>
  result<void> send_within(From& value, const wait_limits& limits) const {
    outgoing<T> out(value);
    return finish(rt::chan_send_within(core(), out.data(), limits), out, value);
  }
  template <class Outgoing, class From>   // T may be incomplete here
  static result<void> finish(rt::chan_status status, Outgoing& out, From& value) {
    if (status == rt::chan_status::done) return out.sent(), result<void>();
    out.keep(value);
    switch (status) {
      case rt::chan_status::timed_out: return errc::timed_out;
      case rt::chan_status::stopped: return errc::stopped;
      case rt::chan_status::would_block: return errc::full;
      default: throw_channel_closed();
    }
  }
};

template <class T, class Handle>
class recv_side {
 public:
  // Receives; parks until there is a value, or nullopt: the channel is closed and empty. On nil: for ever.
  // Throws what moving the value throws, as do all below.
  std::optional<T> recv() const {
    rt::chan_core* c = core();
    if (!c) [[unlikely]] rt::chan_recv_nil();
    incoming<T> in;
    if (!rt::chan_recv(c, in.place())) return std::nullopt;
    return in.take();
  }

  // Does not park. errc::empty (always on nil) or errc::closed (and empty).
  result<T> try_recv() const {
    rt::chan_core* c = core();
    if (!c || c->recv_would_block()) return rt::chan_polled(), errc::empty;
    incoming<T> in;
    return finish(rt::chan_try_recv(c, in.place()), in);
  }

  // Park at most so long: errc::timed_out, errc::closed. A value that is there is received whatever the
  // limit.
  template <class Rep, class Period>
  result<T> recv_for(const std::chrono::duration<Rep, Period>& d) const {
    return recv_within({.deadline = deadline_after(d)});
  }
  template <class Clock, class Duration>
  result<T> recv_until(const std::chrono::time_point<Clock, Duration>& t) const {
    return recv_within({.deadline = deadline_at(t)});
  }
  // Parks until a stop is requested: errc::stopped, at once if it has been already; errc::closed.
  result<T> recv(const std::stop_token& stop) const { return recv_within({.stop = &stop}); }

  // An input range of the values until the channel is closed and empty. Comparing and dereferencing park;
  // begin() does not park; ++ parks only on an element that was neither dereferenced nor compared with the
  // end: it passes over one. Several may walk one channel: each value goes to one of them.
  chan_iterator<T> begin() const noexcept { return chan_iterator<T>(core()); }
  std::default_sentinel_t end() const noexcept { return {}; }

 private:
  rt::chan_core* core() const noexcept { return chan_access::core(static_cast<const Handle&>(*this)); }

  result<T> recv_within(const wait_limits& limits) const {
    incoming<T> in;
    return finish(rt::chan_recv_within(core(), in.place(), limits), in);
  }
  template <class Incoming>   // T may be incomplete here
  static result<T> finish(rt::chan_status status, Incoming& in) {
    switch (status) {
      case rt::chan_status::done: return result<T>(in.take(), errc::closed);
      case rt::chan_status::timed_out: return errc::timed_out;
      case rt::chan_status::stopped: return errc::stopped;
      case rt::chan_status::would_block: return errc::empty;
      default: return errc::closed;
    }
  }
};

}  // namespace detail

// Both ends of a channel.
template <class T>
class chan : public detail::chan_handle<T>,
             public detail::send_side<T, chan<T>>,
             public detail::recv_side<T, chan<T>> {
 public:
  chan() noexcept = default;   // nil

 private:
  explicit chan(rt::chan_core* adopted) noexcept : detail::chan_handle<T>(rt::chan_ref(adopted)) {}
  friend chan make_chan<T>(std::ptrdiff_t n);
  friend struct detail::chan_access;
};

// A handle that can only send (and close).
template <class T>
class send_chan : public detail::chan_handle<T>, public detail::send_side<T, send_chan<T>> {
 public:
  send_chan() noexcept = default;
  send_chan(const chan<T>& c) noexcept : detail::chan_handle<T>(c) {}   // implicit: a chan is a send_chan
};

// A handle that can only receive.
template <class T>
class recv_chan : public detail::chan_handle<T>, public detail::recv_side<T, recv_chan<T>> {
 public:
  recv_chan() noexcept = default;
  recv_chan(const chan<T>& c) noexcept : detail::chan_handle<T>(c) {}   // implicit: a chan is a recv_chan
};

template <class T>
chan<T> make_chan(std::ptrdiff_t n) {
  return chan<T>(rt::chan_make(n, detail::slot_size<T>(), detail::drop_function<T>()));
}

}  // namespace weft::inline v0

// Cheap to copy, so adaptors take a channel by value. Not a sized range: size() says what is buffered now.
template <class T>
inline constexpr bool std::ranges::enable_view<weft::chan<T>> = true;
template <class T>
inline constexpr bool std::ranges::enable_view<weft::recv_chan<T>> = true;
template <class T>
inline constexpr bool std::ranges::disable_sized_range<weft::chan<T>> = true;
template <class T>
inline constexpr bool std::ranges::disable_sized_range<weft::recv_chan<T>> = true;

template <class T>
struct std::hash<weft::chan<T>> : weft::detail::handle_hash<weft::chan<T>> {};
template <class T>
struct std::hash<weft::send_chan<T>> : weft::detail::handle_hash<weft::send_chan<T>> {};
template <class T>
struct std::hash<weft::recv_chan<T>> : weft::detail::handle_hash<weft::recv_chan<T>> {};
