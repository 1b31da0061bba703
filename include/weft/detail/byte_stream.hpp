// byte_stream.hpp — how every stream of bytes is read and written: weft::fd, sockets, TLS.
//
// Each operation comes without a limit but a stop token (by default none), with `_for` a duration and with
// `_until` a point in time; each of these throws std::system_error, or with `ec` sets that and throws
// nothing.
#pragma once
#include <chrono>
#include <cstddef>
#include <span>
#include <stop_token>
#include <system_error>

#include "weft/detail/deadline.hpp"

namespace weft::inline v0::detail {

using bytes = std::span<std::byte>;
using const_bytes = std::span<const std::byte>;

[[noreturn]] void throw_io_error(const std::error_code& ec, const char* what);
inline void throw_if(const std::error_code& ec, const char* what) {
  if (ec) [[unlikely]] throw_io_error(ec, what);
}

template <class F>
decltype(auto) or_throw(const char* what, F&& operation) {
  std::error_code ec;
  auto result = operation(ec);
  throw_if(ec, what);
  return result;
}

// Stream has read_within, write_within, write_all_within(buffer, limits, ec).
template <class Stream>
class byte_stream {
 public:
  // Parks until there is at least one byte. How many were read, 0 at the end of the stream, or of an empty
  // buffer. Errors: errc::timed_out, stopped, fd_closed, or the kernel's.
  std::size_t read_some(bytes into, std::stop_token stop = {}) {
    return or_throw("read", [&](std::error_code& ec) { return read_some(into, ec, std::move(stop)); });
  }
  std::size_t read_some(bytes into, std::error_code& ec, std::stop_token stop = {}) {
    return self().read_within(into, {never, &stop}, ec);
  }
  template <class Rep, class Period>
  std::size_t read_some_for(bytes into, const std::chrono::duration<Rep, Period>& d,
                            std::stop_token stop = {}) {
    return or_throw("read", [&](std::error_code& ec) { return read_some_for(into, d, ec, std::move(stop)); });
  }
  template <class Rep, class Period>
  std::size_t read_some_for(bytes into, const std::chrono::duration<Rep, Period>& d, std::error_code& ec,
                            std::stop_token stop = {}) {
    return self().read_within(into, {deadline_after(d), &stop}, ec);
  }
  template <class Clock, class Duration>
  std::size_t read_some_until(bytes into, const std::chrono::time_point<Clock, Duration>& t,
                              std::stop_token stop = {}) {
    return or_throw("read",
                    [&](std::error_code& ec) { return read_some_until(into, t, ec, std::move(stop)); });
  }
  template <class Clock, class Duration>
  std::size_t read_some_until(bytes into, const std::chrono::time_point<Clock, Duration>& t,
                              std::error_code& ec, std::stop_token stop = {}) {
    return self().read_within(into, {deadline_at(t), &stop}, ec);
  }

  // Parks until the whole buffer is filled. If the stream ends before: errc::end_of_stream. With an error the
  // result says how many bytes were read; a throwing one loses that.
  std::size_t read_exact(bytes into, std::stop_token stop = {}) {
    return or_throw("read", [&](std::error_code& ec) { return read_exact(into, ec, std::move(stop)); });
  }
  std::size_t read_exact(bytes into, std::error_code& ec, std::stop_token stop = {}) {
    return read_exact_within(into, {never, &stop}, ec);
  }
  template <class Rep, class Period>
  std::size_t read_exact_for(bytes into, const std::chrono::duration<Rep, Period>& d,
                             std::stop_token stop = {}) {
    return or_throw("read",
                    [&](std::error_code& ec) { return read_exact_for(into, d, ec, std::move(stop)); });
  }
  template <class Rep, class Period>
  std::size_t read_exact_for(bytes into, const std::chrono::duration<Rep, Period>& d, std::error_code& ec,
                             std::stop_token stop = {}) {
    return read_exact_within(into, {deadline_after(d), &stop}, ec);
  }
  template <class Clock, class Duration>
  std::size_t read_exact_until(bytes into, const std::chrono::time_point<Clock, Duration>& t,
                               std::stop_token stop = {}) {
    return or_throw("read",
                    [&](std::error_code& ec) { return read_exact_until(into, t, ec, std::move(stop)); });
  }
  template <class Clock, class Duration>
  std::size_t read_exact_until(bytes into, const std::chrono::time_point<Clock, Duration>& t,
                               std::error_code& ec, std::stop_token stop = {}) {
    return read_exact_within(into, {deadline_at(t), &stop}, ec);
  }

  // Parks until all is written to the kernel. Writes by several goroutines do not mix: one after the other.
  // With an error the result says how many bytes were written.
  std::size_t write_all(const_bytes from, std::stop_token stop = {}) {
    return or_throw("write", [&](std::error_code& ec) { return write_all(from, ec, std::move(stop)); });
  }
  std::size_t write_all(const_bytes from, std::error_code& ec, std::stop_token stop = {}) {
    return self().write_all_within(from, {never, &stop}, ec);
  }
  template <class Rep, class Period>
  std::size_t write_all_for(const_bytes from, const std::chrono::duration<Rep, Period>& d,
                            std::stop_token stop = {}) {
    return or_throw("write",
                    [&](std::error_code& ec) { return write_all_for(from, d, ec, std::move(stop)); });
  }
  template <class Rep, class Period>
  std::size_t write_all_for(const_bytes from, const std::chrono::duration<Rep, Period>& d,
                            std::error_code& ec, std::stop_token stop = {}) {
    return self().write_all_within(from, {deadline_after(d), &stop}, ec);
  }
  template <class Clock, class Duration>
  std::size_t write_all_until(const_bytes from, const std::chrono::time_point<Clock, Duration>& t,
                              std::stop_token stop = {}) {
    return or_throw("write",
                    [&](std::error_code& ec) { return write_all_until(from, t, ec, std::move(stop)); });
  }
  template <class Clock, class Duration>
  std::size_t write_all_until(const_bytes from, const std::chrono::time_point<Clock, Duration>& t,
                              std::error_code& ec, std::stop_token stop = {}) {
    return self().write_all_within(from, {deadline_at(t), &stop}, ec);
  }

  // Parks until at least one byte is written; how many.
  std::size_t write_some(const_bytes from, std::stop_token stop = {}) {
    return or_throw("write", [&](std::error_code& ec) { return write_some(from, ec, std::move(stop)); });
  }
  std::size_t write_some(const_bytes from, std::error_code& ec, std::stop_token stop = {}) {
    return self().write_within(from, {never, &stop}, ec);
  }

 private:
  Stream& self() noexcept { return static_cast<Stream&>(*this); }
  std::size_t read_exact_within(bytes into, const wait_limits& limits, std::error_code& ec);
};

void note_end_of_stream(std::error_code& ec) noexcept;

template <class Stream>
std::size_t byte_stream<Stream>::read_exact_within(bytes into, const wait_limits& limits,
                                                   std::error_code& ec) {
  std::size_t done = 0;
  ec.clear();
  while (done < into.size()) {
    const std::size_t n = self().read_within(into.subspan(done), limits, ec);
    if (ec) break;
    if (n == 0) {
      note_end_of_stream(ec);
      break;
    }
    done += n;
  }
  return done;
}

}  // namespace weft::inline v0::detail
