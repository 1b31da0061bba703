// query.hpp — one question to c-ares, driven by the poller.
#pragma once
#include <ares.h>

#include <string>
#include <system_error>
#include <vector>

#include "weft/detail/deadline.hpp"
#include "weft/net/endpoint.hpp"

namespace weft::inline v0::net {

// c-ares opens the sockets and reads them; which ones it waits for stands in an epoll instance of the
// question's own, since that can be waited for like any descriptor.
class query {
 public:
  explicit query(std::error_code& ec);
  ~query();
  query(const query&) = delete;
  query& operator=(const query&) = delete;

  std::vector<address> ask(const std::string& host, const detail::wait_limits& limits, std::error_code& ec);

 private:
  static void on_socket(void* self, ares_socket_t fd, int read, int write) noexcept;
  static void on_answer(void* self, int status, int timeouts, ares_addrinfo* answer) noexcept;
  void wait(const detail::wait_limits& limits, std::error_code& ec);
  void process();

  ares_channel channel_ = nullptr;
  int sockets_ = -1;                                 // epoll
  bool done_ = false;
  int status_ = ARES_SUCCESS;
  std::vector<address> found_;
};

}  // namespace weft::inline v0::net
