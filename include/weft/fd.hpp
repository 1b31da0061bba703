// fd.hpp — an open descriptor whose operations park the goroutine, not the thread: pipes, sockets, terminals,
// eventfds, whatever the kernel can poll. And waiting for descriptors that somebody else reads and writes.
#pragma once
#include <chrono>
#include <stop_token>
#include <system_error>
#include <utility>

#include "weft/detail/byte_stream.hpp"

namespace weft::inline v0 {

namespace detail {
void wait_foreign(int number, bool write, const wait_limits& limits, std::error_code& ec);
bool foreign_is_ready(int number, bool write, std::int64_t deadline);   // false: timed out; throws the rest
}

// Park until a descriptor that somebody else owns can be read or written without waiting, or has an error or
// a hang-up: for libraries that do their input and output themselves (libpq, libcurl). It must stay open
// meanwhile. It may be in blocking mode, and several goroutines may wait for it. A file is always ready. A
// plain thread blocks. Throw std::system_error, or set `ec`: errc::timed_out, stopped, or the kernel's (no
// such descriptor).
inline void wait_readable(int number, std::error_code& ec, std::stop_token stop = {}) {
  detail::wait_foreign(number, false, {detail::never, &stop}, ec);
}
inline void wait_writable(int number, std::error_code& ec, std::stop_token stop = {}) {
  detail::wait_foreign(number, true, {detail::never, &stop}, ec);
}
inline void wait_readable(int number, std::stop_token stop = {}) {
  std::error_code ec;
  wait_readable(number, ec, std::move(stop));
  detail::throw_if(ec, "wait_readable");
}
inline void wait_writable(int number, std::stop_token stop = {}) {
  std::error_code ec;
  wait_writable(number, ec, std::move(stop));
  detail::throw_if(ec, "wait_writable");
}
// False: not before the deadline. Other errors are thrown.
template <class Rep, class Period>
bool wait_readable_for(int number, const std::chrono::duration<Rep, Period>& d) {
  return detail::foreign_is_ready(number, false, detail::deadline_after(d));
}
template <class Rep, class Period>
bool wait_writable_for(int number, const std::chrono::duration<Rep, Period>& d) {
  return detail::foreign_is_ready(number, true, detail::deadline_after(d));
}

namespace rt {
class poll_desc;
}

namespace detail {

// Everything that a type on top of a descriptor needs.
class fd_handle {
 public:
  fd_handle() noexcept = default;
  explicit fd_handle(rt::poll_desc* open) noexcept : open_(open) {}
  fd_handle(fd_handle&& other) noexcept : open_(std::exchange(other.open_, nullptr)) {}
  fd_handle& operator=(fd_handle&& other) noexcept {
    std::swap(open_, other.open_);
    return *this;
  }
  ~fd_handle();                                      // closes, as close()

  explicit operator bool() const noexcept { return open_ != nullptr; }
  rt::poll_desc* get() const noexcept { return open_; }
  int number() const noexcept;                       // -1: none, or closed
  void close() noexcept;
  void set_read_deadline(std::int64_t deadline) noexcept;
  void set_write_deadline(std::int64_t deadline) noexcept;

 private:
  rt::poll_desc* open_ = nullptr;
};

// Deadlines, close and the number, for every type that has a handle().
template <class Stream>
class with_deadlines {
 public:
  // Every operation that is not over by then fails with errc::timed_out, also those that begin later, until
  // another deadline is set. Any goroutine may set it, also while another one waits. Does not park.
  template <class Clock, class Duration>
  void expires_at(const std::chrono::time_point<Clock, Duration>& t) noexcept { expires(deadline_at(t)); }
  template <class Rep, class Period>
  void expires_after(const std::chrono::duration<Rep, Period>& d) noexcept { expires(deadline_after(d)); }
  template <class Clock, class Duration>
  void reads_expire_at(const std::chrono::time_point<Clock, Duration>& t) noexcept {
    self().handle().set_read_deadline(deadline_at(t));
  }
  template <class Clock, class Duration>
  void writes_expire_at(const std::chrono::time_point<Clock, Duration>& t) noexcept {
    self().handle().set_write_deadline(deadline_at(t));
  }
  void never_expires() noexcept { expires(never); }

  // Operations that wait, and all that come later, fail with errc::fd_closed. The kernel's descriptor is
  // closed when the last of them has left. Does not park. The destructor does it too.
  void close() noexcept { self().handle().close(); }
  int native_handle() const noexcept { return self().handle().number(); }   // -1: none. Stays ours
  explicit operator bool() const noexcept { return static_cast<bool>(self().handle()); }

 private:
  Stream& self() noexcept { return static_cast<Stream&>(*this); }
  const Stream& self() const noexcept { return static_cast<const Stream&>(*this); }
  void expires(std::int64_t deadline) noexcept {
    self().handle().set_read_deadline(deadline);
    self().handle().set_write_deadline(deadline);
  }
};
}  // namespace detail

// Owns a descriptor. Several goroutines may use it at once; it may be closed while others wait in it, but
// must outlive their calls. All functions: from any goroutine; a plain thread that calls them blocks.
class fd : public detail::byte_stream<fd>, public detail::with_deadlines<fd> {
 public:
  fd() noexcept = default;
  // Takes over an open descriptor and makes it non-blocking. Not for one that other processes use too, as
  // standard input: they would see that. Where the kernel cannot poll it (a file), operations block their
  // thread, and the processor goes on without it. Throws std::system_error, and then has not taken it over.
  explicit fd(int number);

  detail::fd_handle& handle() noexcept { return handle_; }
  const detail::fd_handle& handle() const noexcept { return handle_; }

  // For byte_stream.
  std::size_t read_within(detail::bytes into, const detail::wait_limits& limits, std::error_code& ec);
  std::size_t write_within(detail::const_bytes from, const detail::wait_limits& limits, std::error_code& ec);
  std::size_t write_all_within(detail::const_bytes from, const detail::wait_limits& limits,
                               std::error_code& ec);

 private:
  detail::fd_handle handle_;
};

}  // namespace weft::inline v0
