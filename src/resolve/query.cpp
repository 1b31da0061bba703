// query.cpp — see query.hpp.
#include "resolve/query.hpp"

#include <errno.h>
#include <netinet/in.h>
#include <sys/epoll.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <span>

#include "weft/error.hpp"
#include "weft/fd.hpp"
#include "weft/net/resolve.hpp"

namespace weft::inline v0::net {
namespace {

int start_library() {
  static const int status = ares_library_init(ARES_LIB_INIT_ALL);
  return status;
}

std::error_code ares_error(int status) { return {status, resolve_category()}; }

void add_address(std::vector<address>& to, const sockaddr* from) {
  if (from->sa_family == AF_INET) {
    address::v4_bytes bytes;
    std::memcpy(bytes.data(), &reinterpret_cast<const sockaddr_in*>(from)->sin_addr, bytes.size());
    to.emplace_back(bytes);
  } else if (from->sa_family == AF_INET6) {
    const auto* in = reinterpret_cast<const sockaddr_in6*>(from);
    address::v6_bytes bytes;
    std::memcpy(bytes.data(), &in->sin6_addr, bytes.size());
    to.emplace_back(bytes, in->sin6_scope_id);
  }
}

}  // namespace

query::query(std::error_code& ec) : sockets_(::epoll_create1(EPOLL_CLOEXEC)) {
  ares_options options{};
  options.sock_state_cb = on_socket;
  options.sock_state_cb_data = this;
  int status = start_library();
  if (status == ARES_SUCCESS) status = ares_init_options(&channel_, &options, ARES_OPT_SOCK_STATE_CB);
  if (sockets_ < 0)
    ec = {errno, std::system_category()};
  else if (status != ARES_SUCCESS)
    ec = ares_error(status);
}

query::~query() {
  if (channel_ != nullptr) ares_destroy(channel_);
  if (sockets_ >= 0) ::close(sockets_);
}

void query::on_socket(void* self, ares_socket_t fd, int read, int write) noexcept {
  const int sockets = static_cast<query*>(self)->sockets_;
  epoll_event e{};
  e.events = (read ? EPOLLIN : 0u) | (write ? EPOLLOUT : 0u);
  e.data.fd = fd;
  if (e.events == 0)
    ::epoll_ctl(sockets, EPOLL_CTL_DEL, fd, &e);
  else if (::epoll_ctl(sockets, EPOLL_CTL_MOD, fd, &e) < 0)
    ::epoll_ctl(sockets, EPOLL_CTL_ADD, fd, &e);
}

void query::on_answer(void* self, int status, int, ares_addrinfo* answer) noexcept {
  auto* q = static_cast<query*>(self);
  q->done_ = true;
  q->status_ = status;
  if (answer == nullptr) return;
  for (const ares_addrinfo_node* n = answer->nodes; n != nullptr; n = n->ai_next)
    add_address(q->found_, n->ai_addr);
  ares_freeaddrinfo(answer);
}

std::vector<address> query::ask(const std::string& host, const detail::wait_limits& limits,
                                std::error_code& ec) {
  ares_addrinfo_hints hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  ares_getaddrinfo(channel_, host.c_str(), nullptr, &hints, on_answer, this);
  while (!done_ && !ec) wait(limits, ec);
  if (!ec && status_ != ARES_SUCCESS) ec = ares_error(status_);
  return std::move(found_);
}

// Until a socket is ready or c-ares wants to ask again.
void query::wait(const detail::wait_limits& limits, std::error_code& ec) {
  timeval pause{};
  std::int64_t until = limits.deadline;
  if (ares_timeout(channel_, nullptr, &pause) != nullptr) {
    constexpr std::int64_t s = 1'000'000'000, us = 1'000;
    until = std::min(until, detail::now_ns() + pause.tv_sec * s + pause.tv_usec * us);
  }
  detail::wait_foreign(sockets_, false, {until, limits.stop}, ec);
  if (ec == errc::timed_out && until != limits.deadline) ec.clear();
  if (!ec) process();
}

void query::process() {
  constexpr int most = 16;
  epoll_event ready[most];
  const int n = ::epoll_wait(sockets_, ready, most, 0);
  for (const epoll_event& e : std::span(ready, static_cast<std::size_t>(std::max(n, 0)))) {
    const bool broken = e.events & (EPOLLERR | EPOLLHUP);
    ares_process_fd(channel_, broken || e.events & EPOLLIN ? e.data.fd : ARES_SOCKET_BAD,
                    e.events & EPOLLOUT ? e.data.fd : ARES_SOCKET_BAD);
  }
  if (n <= 0) ares_process_fd(channel_, ARES_SOCKET_BAD, ARES_SOCKET_BAD);
}

}  // namespace weft::inline v0::net
