// endpoint.hpp — IP addresses and ports as values.
#pragma once
#include <array>
#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace weft::inline v0::net {

// An IPv4 or IPv6 address; by default 0.0.0.0.
class address {
 public:
  using v4_bytes = std::array<std::uint8_t, 4>;
  using v6_bytes = std::array<std::uint8_t, 16>;

  constexpr address() noexcept = default;
  constexpr explicit address(const v4_bytes& b) noexcept {
    for (std::size_t i = 0; i < b.size(); ++i) bytes_[i] = b[i];
  }
  constexpr explicit address(const v6_bytes& b, std::uint32_t scope = 0) noexcept
      : bytes_(b), scope_(scope), is_v6_(true) {}

  static constexpr address loopback_v4() noexcept { return address(v4_bytes{127, 0, 0, 1}); }
  static constexpr address loopback_v6() noexcept {
    return address(v6_bytes{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1});
  }
  static constexpr address any_v4() noexcept { return {}; }
  static constexpr address any_v6() noexcept { return address(v6_bytes{}); }
  // "192.0.2.1", "2001:db8::1", "fe80::1%eth0". Never looks a name up.
  static std::optional<address> parse(std::string_view text);

  constexpr bool is_v4() const noexcept { return !is_v6_; }
  constexpr bool is_v6() const noexcept { return is_v6_; }
  constexpr const v6_bytes& bytes() const noexcept { return bytes_; }   // of an IPv4 address the first four
  constexpr std::uint32_t scope() const noexcept { return scope_; }     // the interface's index; 0: none
  bool is_loopback() const noexcept;
  std::string to_string() const;

  friend auto operator<=>(const address&, const address&) = default;

 private:
  v6_bytes bytes_{};
  std::uint32_t scope_ = 0;
  bool is_v6_ = false;
};

class endpoint {
 public:
  constexpr endpoint() noexcept = default;
  constexpr endpoint(const net::address& a, std::uint16_t port) noexcept : address_(a), port_(port) {}
  // "127.0.0.1:80", "[::1]:80", ":80" (any IPv6 address, which takes IPv4 as well).
  static std::optional<endpoint> parse(std::string_view text);

  constexpr const net::address& address() const noexcept { return address_; }
  constexpr std::uint16_t port() const noexcept { return port_; }
  std::string to_string() const;

  friend auto operator<=>(const endpoint&, const endpoint&) = default;

 private:
  net::address address_;
  std::uint16_t port_ = 0;
};

}  // namespace weft::inline v0::net
