// tcp.hpp — TCP connections and who accepts them. All that waits parks its goroutine; a plain thread blocks.
#pragma once
#include <chrono>
#include <cstddef>
#include <stop_token>
#include <string_view>
#include <system_error>

#include "weft/fd.hpp"
#include "weft/net/endpoint.hpp"

namespace weft::inline v0::net {

// One connection. One goroutine may read while another one writes.
class tcp_stream : public detail::byte_stream<tcp_stream>, public detail::with_deadlines<tcp_stream> {
 public:
  tcp_stream() noexcept = default;

  // Park until it is connected. Throw std::system_error, or set `ec` and return one that is not open.
  static tcp_stream connect(const endpoint& to, std::stop_token stop = {}) {
    return detail::or_throw("connect", [&](std::error_code& ec) { return connect(to, ec, std::move(stop)); });
  }
  static tcp_stream connect(const endpoint& to, std::error_code& ec, std::stop_token stop = {}) {
    return connect_within(to, {detail::never, &stop}, ec);
  }
  template <class Rep, class Period>
  static tcp_stream connect_for(const endpoint& to, const std::chrono::duration<Rep, Period>& d,
                                std::stop_token stop = {}) {
    return detail::or_throw("connect",
                            [&](std::error_code& ec) { return connect_for(to, d, ec, std::move(stop)); });
  }
  template <class Rep, class Period>
  static tcp_stream connect_for(const endpoint& to, const std::chrono::duration<Rep, Period>& d,
                                std::error_code& ec, std::stop_token stop = {}) {
    return connect_within(to, {detail::deadline_after(d), &stop}, ec);
  }

  // Does not park. The other side reads the end of the stream; here it can still be read.
  void shutdown_write(std::error_code& ec) noexcept;
  void shutdown_write() {
    std::error_code ec;
    detail::throw_if((shutdown_write(ec), ec), "shutdown");
  }
  // Do not park; throw std::system_error. Small writes are sent at once (as in Go) unless no_delay(false).
  void no_delay(bool on);
  void keep_alive(bool on, std::chrono::seconds idle = std::chrono::seconds(15));
  endpoint local_endpoint() const;
  endpoint remote_endpoint() const;

  detail::fd_handle& handle() noexcept { return handle_; }
  const detail::fd_handle& handle() const noexcept { return handle_; }

  // For byte_stream.
  std::size_t read_within(detail::bytes into, const detail::wait_limits& limits, std::error_code& ec);
  std::size_t write_within(detail::const_bytes from, const detail::wait_limits& limits, std::error_code& ec);
  std::size_t write_all_within(detail::const_bytes from, const detail::wait_limits& limits,
                               std::error_code& ec);

 private:
  friend class tcp_listener;
  static tcp_stream connect_within(const endpoint& to, const detail::wait_limits& limits,
                                   std::error_code& ec);
  detail::fd_handle handle_;
};

struct listen_options {
  int backlog = 4096;         // connections that wait for accept(); the kernel may allow fewer (somaxconn)
  bool reuse_port = false;    // several listeners on one port share its connections
  bool v6_only = false;       // of [::]: no IPv4 connections
};

class tcp_listener : public detail::with_deadlines<tcp_listener> {
 public:
  tcp_listener() noexcept = default;

  // Port 0: any free one, see local_endpoint(). Does not park. Throw std::system_error.
  static tcp_listener bind(const endpoint& at, const listen_options& options = {});
  static tcp_listener bind(std::string_view at, const listen_options& options = {});   // endpoint::parse()

  // Park until there is a connection. Several goroutines may accept at once. Too many open files: an error
  // like others, the connection waits in the backlog.
  tcp_stream accept(std::stop_token stop = {}) {
    return detail::or_throw("accept", [&](std::error_code& ec) { return accept(ec, std::move(stop)); });
  }
  tcp_stream accept(std::error_code& ec, std::stop_token stop = {}) {
    return accept_within({detail::never, &stop}, ec);
  }
  template <class Rep, class Period>
  tcp_stream accept_for(const std::chrono::duration<Rep, Period>& d, std::error_code& ec,
                        std::stop_token stop = {}) {
    return accept_within({detail::deadline_after(d), &stop}, ec);
  }
  endpoint local_endpoint() const;

  detail::fd_handle& handle() noexcept { return handle_; }
  const detail::fd_handle& handle() const noexcept { return handle_; }

 private:
  tcp_stream accept_within(const detail::wait_limits& limits, std::error_code& ec);
  detail::fd_handle handle_;
};

}  // namespace weft::inline v0::net
