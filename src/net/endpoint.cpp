// endpoint.cpp — addresses and ports: as text, and as the kernel wants them.
#include "weft/net/endpoint.hpp"

#include <arpa/inet.h>
#include <net/if.h>
#include <netinet/in.h>

#include <algorithm>
#include <charconv>
#include <cstring>

#include "net/sockaddr.hpp"

namespace weft::inline v0::net {
namespace {

std::optional<std::uint32_t> parse_scope(std::string_view text) {
  std::uint32_t index = 0;
  const char* end = text.data() + text.size();
  if (auto [p, error] = std::from_chars(text.data(), end, index); error == std::errc{} && p == end)
    return index;
  index = if_nametoindex(std::string(text).c_str());
  return index != 0 ? std::optional(index) : std::nullopt;
}

std::optional<std::uint16_t> parse_port(std::string_view text) {
  std::uint16_t port = 0;
  const char* end = text.data() + text.size();
  const auto [p, error] = std::from_chars(text.data(), end, port);
  return error == std::errc{} && p == end && !text.empty() ? std::optional(port) : std::nullopt;
}

}  // namespace

std::optional<address> address::parse(std::string_view text) {
  const std::size_t percent = text.find('%');
  const std::string host(text.substr(0, percent));
  v4_bytes v4;
  if (percent == text.npos && inet_pton(AF_INET, host.c_str(), v4.data()) == 1) return address(v4);
  v6_bytes v6;
  if (inet_pton(AF_INET6, host.c_str(), v6.data()) != 1) return std::nullopt;
  if (percent == text.npos) return address(v6);
  const auto scope = parse_scope(text.substr(percent + 1));
  return scope ? std::optional(address(v6, *scope)) : std::nullopt;
}

bool address::is_loopback() const noexcept {
  return is_v6_ ? *this == loopback_v6() : bytes_[0] == 127;
}

std::string address::to_string() const {
  char text[INET6_ADDRSTRLEN];
  std::string out = inet_ntop(is_v6_ ? AF_INET6 : AF_INET, bytes_.data(), text, sizeof text);
  char interface[IF_NAMESIZE];
  if (scope_ != 0) out += '%', out += if_indextoname(scope_, interface) ? interface : std::to_string(scope_);
  return out;
}

std::optional<endpoint> endpoint::parse(std::string_view text) {
  const std::size_t colon = text.rfind(':');
  if (colon == text.npos) return std::nullopt;
  const auto port = parse_port(text.substr(colon + 1));
  std::string_view host = text.substr(0, colon);
  if (!port) return std::nullopt;
  if (host.empty()) return endpoint(net::address::any_v6(), *port);
  const bool brackets = host.size() > 2 && host.front() == '[' && host.back() == ']';
  if (brackets) host = host.substr(1, host.size() - 2);
  const auto a = net::address::parse(host);
  return a && a->is_v6() == brackets ? std::optional(endpoint(*a, *port)) : std::nullopt;
}

std::string endpoint::to_string() const {
  const std::string host = address_.to_string();
  return (address_.is_v6() ? '[' + host + ']' : host) + ':' + std::to_string(port_);
}

}  // namespace weft::inline v0::net

namespace weft::inline v0::rt {

socket_address::socket_address(const net::endpoint& e) noexcept {
  const auto& bytes = e.address().bytes();
  if (e.address().is_v4()) {
    sockaddr_in in{};
    in.sin_family = AF_INET;
    in.sin_port = htons(e.port());
    std::memcpy(&in.sin_addr, bytes.data(), sizeof in.sin_addr);
    std::memcpy(&storage, &in, length = sizeof in);
  } else {
    sockaddr_in6 in{};
    in.sin6_family = AF_INET6;
    in.sin6_port = htons(e.port());
    in.sin6_scope_id = e.address().scope();
    std::memcpy(&in.sin6_addr, bytes.data(), sizeof in.sin6_addr);
    std::memcpy(&storage, &in, length = sizeof in);
  }
}

net::endpoint socket_address::to_endpoint() const noexcept {
  if (family() == AF_INET) {
    sockaddr_in in;
    std::memcpy(&in, &storage, sizeof in);
    net::address::v4_bytes bytes;
    std::memcpy(bytes.data(), &in.sin_addr, bytes.size());
    return {net::address(bytes), ntohs(in.sin_port)};
  }
  if (family() != AF_INET6) return {};
  sockaddr_in6 in;
  std::memcpy(&in, &storage, sizeof in);
  net::address::v6_bytes bytes;
  std::memcpy(bytes.data(), &in.sin6_addr, bytes.size());
  return {net::address(bytes, in.sin6_scope_id), ntohs(in.sin6_port)};
}

}  // namespace weft::inline v0::rt
