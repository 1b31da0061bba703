// tls.hpp — TLS over a TCP connection, client and server. By OpenSSL: link weft::tls.
#pragma once
#include <memory>
#include <stop_token>
#include <string>
#include <system_error>

#include "weft/net/tcp.hpp"

namespace weft::inline v0::net {

const std::error_category& tls_category() noexcept;  // OpenSSL's own errors

// What many connections share: certificates, keys, whom to trust. Copies share it too. Nothing here parks;
// all of it throws std::system_error. To be set up before it is used.
class tls_context {
 public:
  // Trusts what the system trusts, or the certificates in the file.
  static tls_context client(const std::string& trusted_file = {});
  static tls_context server(const std::string& certificate_chain_file, const std::string& key_file);

  // Clients: do not ask who the other side is. For tests only.
  void trust_anybody();
  void* native_handle() const noexcept { return context_.get(); }   // SSL_CTX*

 private:
  std::shared_ptr<void> context_;
};

// One goroutine may read while another one writes. Deadlines and close() are those of the connection under
// it; close() alone ends the connection without TLS's goodbye, see shutdown().
class tls_stream : public detail::byte_stream<tls_stream>, public detail::with_deadlines<tls_stream> {
 public:
  tls_stream() noexcept;
  tls_stream(tls_stream&&) noexcept;
  tls_stream& operator=(tls_stream&&) noexcept;
  ~tls_stream();

  // Park for the handshake. A client asks for `host` and checks that the certificate is that host's and one
  // that it trusts. Throw std::system_error, or set `ec`.
  static tls_stream connect(tcp_stream over, const tls_context& context, const std::string& host,
                            std::error_code& ec, std::stop_token stop = {});
  static tls_stream connect(tcp_stream over, const tls_context& context, const std::string& host,
                            std::stop_token stop = {}) {
    return detail::or_throw("tls", [&](std::error_code& ec) {
      return connect(std::move(over), context, host, ec, std::move(stop));
    });
  }
  static tls_stream accept(tcp_stream over, const tls_context& context, std::error_code& ec,
                           std::stop_token stop = {});
  static tls_stream accept(tcp_stream over, const tls_context& context, std::stop_token stop = {}) {
    return detail::or_throw(
        "tls", [&](std::error_code& ec) { return accept(std::move(over), context, ec, std::move(stop)); });
  }

  // Parks until the goodbye is written. What the other side still sends can be read.
  void shutdown(std::error_code& ec, std::stop_token stop = {});

  std::string protocol() const;                      // "TLSv1.3"
  void* native_handle() const noexcept;              // SSL*
  tcp_stream& next_layer() noexcept;

  detail::fd_handle& handle() noexcept;
  const detail::fd_handle& handle() const noexcept;

  // For byte_stream. A goodbye of the other side reads as 0; a connection that ends without one is an error.
  std::size_t read_within(detail::bytes into, const detail::wait_limits& limits, std::error_code& ec);
  std::size_t write_within(detail::const_bytes from, const detail::wait_limits& limits, std::error_code& ec);
  std::size_t write_all_within(detail::const_bytes from, const detail::wait_limits& limits,
                               std::error_code& ec);

 private:
  struct session;
  std::unique_ptr<session> session_;
};

}  // namespace weft::inline v0::net
