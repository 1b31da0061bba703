// resolve.hpp — names to addresses, and connections by name. By c-ares: link weft::resolve.
#pragma once
#include <chrono>
#include <cstdint>
#include <stop_token>
#include <string>
#include <system_error>
#include <vector>

#include "weft/net/tcp.hpp"

namespace weft::inline v0::net {

// What c-ares says: no such name, no answer, ... (category "c-ares").
const std::error_category& resolve_category() noexcept;

// The addresses of a host, in the order in which they should be tried (RFC 6724): from the hosts file, else
// the name servers of /etc/resolv.conf, IPv6 and IPv4 asked at once. An address as text is itself. Parks; a
// plain thread blocks. Throws std::system_error, or sets `ec`: of resolve_category(), errc::timed_out,
// errc::stopped.
std::vector<address> resolve(const std::string& host, std::stop_token stop = {});
std::vector<address> resolve(const std::string& host, std::error_code& ec, std::stop_token stop = {});
std::vector<address> resolve_for(const std::string& host, std::chrono::nanoseconds limit, std::error_code& ec,
                                 std::stop_token stop = {});

// Connects to the first address that answers. They are tried one after the other, but the next one is begun
// after 250 ms even if the one before has not failed yet ("happy eyeballs", RFC 8305). Parks. The error is
// that of the first address.
tcp_stream connect(const std::string& host, std::uint16_t port, std::stop_token stop = {});
tcp_stream connect(const std::string& host, std::uint16_t port, std::error_code& ec,
                   std::stop_token stop = {});

}  // namespace weft::inline v0::net
