// sockaddr.hpp — endpoints as the kernel wants them.
#pragma once
#include <sys/socket.h>

#include "weft/net/endpoint.hpp"

namespace weft::inline v0::rt {

struct socket_address {
  sockaddr_storage storage{};
  socklen_t length = sizeof(sockaddr_storage);

  socket_address() noexcept = default;
  explicit socket_address(const net::endpoint& e) noexcept;
  net::endpoint to_endpoint() const noexcept;        // of another family: an empty one
  sockaddr* get() noexcept { return reinterpret_cast<sockaddr*>(&storage); }
  int family() const noexcept { return storage.ss_family; }
};

}  // namespace weft::inline v0::rt
