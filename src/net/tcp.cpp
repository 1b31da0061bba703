// tcp.cpp — tcp_stream and tcp_listener.
#include "weft/net/tcp.hpp"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include "net/sockaddr.hpp"
#include "net/stream.hpp"
#include "netpoll/netpoll.hpp"

namespace weft::inline v0::net {

using namespace rt;

namespace {

// A descriptor that is closed unless it is taken over.
class new_socket {
 public:
  explicit new_socket(int fd) noexcept : fd_(fd) {}
  ~new_socket() {
    if (fd_ >= 0) ::close(fd_);
  }
  new_socket(const new_socket&) = delete;
  new_socket& operator=(const new_socket&) = delete;
  int get() const noexcept { return fd_; }

  detail::fd_handle take_over(std::error_code& ec) noexcept {
    int error = 0;
    poll_desc* d = netpoll_open(fd_, error);
    if (d == nullptr) ec = {-error, std::system_category()};
    else fd_ = -1;
    return detail::fd_handle(d);
  }

 private:
  int fd_;
};

int open_socket(int family) noexcept {
  return ::socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
}

bool set(int fd, int level, int option, int value) noexcept {
  return ::setsockopt(fd, level, option, &value, sizeof value) == 0;
}

void set_or_throw(const detail::fd_handle& handle, int level, int option, int value) {
  if (!set(handle.number(), level, option, value)) throw std::system_error(last_error(), "setsockopt");
}

template <class Ask>
endpoint ask_for_name(const detail::fd_handle& handle, Ask ask, const char* what) {
  socket_address a;
  if (ask(handle.number(), a.get(), &a.length) < 0) throw std::system_error(last_error(), what);
  return a.to_endpoint();
}

}  // namespace

// ---- tcp_stream ----

// The kernel says by writability that it has an answer. A connect that a signal has interrupted goes on.
tcp_stream tcp_stream::connect_within(const endpoint& to, const detail::wait_limits& limits,
                                      std::error_code& ec) {
  ec.clear();
  socket_address a(to);
  new_socket socket(open_socket(a.family()));
  if (socket.get() < 0) return ec = last_error(), tcp_stream();
  set(socket.get(), IPPROTO_TCP, TCP_NODELAY, 1);
  const bool done = ::connect(socket.get(), a.get(), a.length) == 0;
  if (!done && errno != EINPROGRESS && errno != EINTR) return ec = last_error(), tcp_stream();
  tcp_stream made;
  made.handle_ = socket.take_over(ec);
  if (ec || done) return made;
  const auto answer = [](int fd) -> ssize_t {
    int error = 0;
    socklen_t length = sizeof error;
    ::getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &length);
    if (error != 0) return errno = error, -1;
    socket_address peer;
    return ::getpeername(fd, peer.get(), &peer.length) < 0 ? (errno = EAGAIN, -1) : 0;
  };
  poll_desc& d = *made.handle_.get();
  const use_of_fd use(&d);
  return attempt(d, d.write, limits, ec, answer) < 0 ? tcp_stream() : std::move(made);
}

std::size_t tcp_stream::read_within(detail::bytes into, const detail::wait_limits& limits,
                                    std::error_code& ec) {
  return read_stream(handle_.get(), into, limits, ec, stream_kind::socket);
}
std::size_t tcp_stream::write_within(detail::const_bytes from, const detail::wait_limits& limits,
                                     std::error_code& ec) {
  return write_stream(handle_.get(), from, limits, ec, stream_kind::socket);
}
std::size_t tcp_stream::write_all_within(detail::const_bytes from, const detail::wait_limits& limits,
                                         std::error_code& ec) {
  return write_whole(handle_.get(), from, limits, ec, stream_kind::socket);
}

void tcp_stream::shutdown_write(std::error_code& ec) noexcept {
  ec.clear();
  const use_of_fd use(handle_.get());
  if (use.get() == nullptr)
    ec = errc::fd_closed;
  else if (::shutdown(use.get()->fd(), SHUT_WR) < 0)
    ec = last_error();
}

void tcp_stream::no_delay(bool on) { set_or_throw(handle_, IPPROTO_TCP, TCP_NODELAY, on); }

void tcp_stream::keep_alive(bool on, std::chrono::seconds idle) {
  set_or_throw(handle_, SOL_SOCKET, SO_KEEPALIVE, on);
  if (!on) return;
  set_or_throw(handle_, IPPROTO_TCP, TCP_KEEPIDLE, static_cast<int>(idle.count()));
  set_or_throw(handle_, IPPROTO_TCP, TCP_KEEPINTVL, static_cast<int>(idle.count()));
}

endpoint tcp_stream::local_endpoint() const { return ask_for_name(handle_, ::getsockname, "getsockname"); }
endpoint tcp_stream::remote_endpoint() const { return ask_for_name(handle_, ::getpeername, "getpeername"); }

// ---- tcp_listener ----

tcp_listener tcp_listener::bind(const endpoint& at, const listen_options& options) {
  socket_address a(at);
  new_socket socket(open_socket(a.family()));
  const int fd = socket.get();
  const bool made = fd >= 0 && set(fd, SOL_SOCKET, SO_REUSEADDR, 1) &&
                    set(fd, IPPROTO_TCP, TCP_NODELAY, 1) &&   // what is accepted inherits it
                    (!options.reuse_port || set(fd, SOL_SOCKET, SO_REUSEPORT, 1)) &&
                    (a.family() != AF_INET6 || set(fd, IPPROTO_IPV6, IPV6_V6ONLY, options.v6_only)) &&
                    ::bind(fd, a.get(), a.length) == 0 && ::listen(fd, options.backlog) == 0;
  if (!made) throw std::system_error(last_error(), "listen on " + at.to_string());
  std::error_code ec;
  tcp_listener listener;
  listener.handle_ = socket.take_over(ec);
  detail::throw_if(ec, "listen");
  return listener;
}

tcp_listener tcp_listener::bind(std::string_view at, const listen_options& options) {
  const auto e = endpoint::parse(at);
  if (!e)
    throw std::system_error(std::make_error_code(std::errc::invalid_argument),
                            "listen on " + std::string(at));
  return bind(*e, options);
}

tcp_stream tcp_listener::accept_within(const detail::wait_limits& limits, std::error_code& ec) {
  ec.clear();
  tcp_stream stream;
  const use_of_fd use(handle_.get());
  if (use.get() == nullptr) return ec = errc::fd_closed, std::move(stream);
  const auto accept = [](int fd) -> ssize_t {
    for (;;) {
      const int made = ::accept4(fd, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
      if (made >= 0 || errno != ECONNABORTED) return made;   // gone before we came: the next one
    }
  };
  const ssize_t fd = attempt(*use.get(), use.get()->read, limits, ec, accept);
  if (fd < 0) return stream;
  new_socket socket(static_cast<int>(fd));
  stream.handle_ = socket.take_over(ec);
  return stream;
}

endpoint tcp_listener::local_endpoint() const { return ask_for_name(handle_, ::getsockname, "getsockname"); }

}  // namespace weft::inline v0::net
