// tls.cpp — tls_stream: OpenSSL on a non-blocking socket, parked when it wants to read or write.
//
// OpenSSL's queue of errors belongs to the thread: it is cleared before each call and read after it, and
// nothing parks in between. An SSL is not for two threads at once: a lock is held for each call, but not
// while it waits.
#include "weft/net/tls.hpp"

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include <algorithm>
#include <climits>

#include "net/io.hpp"
#include "weft/mutex.hpp"

namespace weft::inline v0::net {

using namespace rt;

namespace {

class category final : public std::error_category {
 public:
  const char* name() const noexcept override { return "tls"; }
  std::string message(int code) const override {
    if (code == no_goodbye) return "the connection ended in the middle of TLS";
    if (code > verification) return X509_verify_cert_error_string(code - verification);
    const char* text = ERR_reason_error_string(static_cast<unsigned long>(code));
    return text != nullptr ? text : "TLS error";
  }
  static constexpr int no_goodbye = 1, verification = 1 << 30;
};

std::error_code queued_error() noexcept {
  const unsigned long code = ERR_peek_error();
  return {code != 0 ? static_cast<int>(code & INT_MAX) : category::no_goodbye, tls_category()};
}

[[noreturn]] void fail(const char* what) {
  const std::error_code ec = queued_error();
  ERR_clear_error();
  throw std::system_error(ec, what);
}

std::shared_ptr<void> new_context(const SSL_METHOD* method) {
  ERR_clear_error();
  SSL_CTX* c = SSL_CTX_new(method);
  if (c == nullptr) fail("tls");
  SSL_CTX_set_min_proto_version(c, TLS1_2_VERSION);
  SSL_CTX_set_mode(
      c, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER | SSL_MODE_RELEASE_BUFFERS);
  return {c, [](void* p) { SSL_CTX_free(static_cast<SSL_CTX*>(p)); }};
}

SSL_CTX* native(const tls_context& c) noexcept { return static_cast<SSL_CTX*>(c.native_handle()); }

}  // namespace

const std::error_category& tls_category() noexcept {
  static const category the_one;
  return the_one;
}

// ---- tls_context ----

tls_context tls_context::client(const std::string& trusted_file) {
  tls_context c;
  c.context_ = new_context(TLS_client_method());
  const bool ok = trusted_file.empty() ? SSL_CTX_set_default_verify_paths(native(c)) == 1
                                       : SSL_CTX_load_verify_file(native(c), trusted_file.c_str()) == 1;
  if (!ok) fail(trusted_file.c_str());
  SSL_CTX_set_verify(native(c), SSL_VERIFY_PEER, nullptr);
  return c;
}

tls_context tls_context::server(const std::string& certificate_chain_file, const std::string& key_file) {
  tls_context c;
  c.context_ = new_context(TLS_server_method());
  if (SSL_CTX_use_certificate_chain_file(native(c), certificate_chain_file.c_str()) != 1)
    fail(certificate_chain_file.c_str());
  if (SSL_CTX_use_PrivateKey_file(native(c), key_file.c_str(), SSL_FILETYPE_PEM) != 1) fail(key_file.c_str());
  if (SSL_CTX_check_private_key(native(c)) != 1) fail(key_file.c_str());
  return c;
}

void tls_context::trust_anybody() { SSL_CTX_set_verify(native(*this), SSL_VERIFY_NONE, nullptr); }

// ---- tls_stream ----

struct tls_stream::session {
  tcp_stream over;
  tls_context context;
  SSL* ssl = nullptr;
  mutex one_call, write_turn;

  session(tcp_stream o, const tls_context& c) : over(std::move(o)), context(c) {
    ERR_clear_error();
    ssl = SSL_new(native(c));
    if (ssl == nullptr || SSL_set_fd(ssl, over.native_handle()) != 1) fail("tls");
  }
  ~session() { SSL_free(ssl); }

  // `call` returns what SSL_read and its kin do: above 0 when it is done.
  template <class Call>
  int attempt(const detail::wait_limits& limits, std::error_code& ec, Call&& call) {
    const use_of_fd use(over.handle().get());
    if (use.get() == nullptr) return ec = errc::fd_closed, -1;
    poll_desc& d = *use.get();
    for (;;) {
      const std::uint32_t seen_read = d.read.edges(), seen_write = d.write.edges();
      int n, why, system;
      {
        const std::lock_guard turn(one_call);
        ERR_clear_error();
        n = call(ssl);
        system = errno;
        why = n > 0 ? SSL_ERROR_NONE : SSL_get_error(ssl, n);
        if (why == SSL_ERROR_SSL || why == SSL_ERROR_SYSCALL) ec = explain(why, system);
      }
      if (n > 0) return n;
      if (why == SSL_ERROR_ZERO_RETURN) return 0;
      if (why != SSL_ERROR_WANT_READ && why != SSL_ERROR_WANT_WRITE) return -1;
      poll_direction& wanted = why == SSL_ERROR_WANT_READ ? d.read : d.write;
      wanted.note_drained(why == SSL_ERROR_WANT_READ ? seen_read : seen_write);
      ready_by by = wanted.check(limits);
      if (by == ready_by::kernel) by = wanted.wait(limits, d);
      if (by != ready_by::kernel) return ec = why_not(by), -1;
    }
  }

  std::error_code explain(int why, int system) const noexcept {
    if (const long v = SSL_get_verify_result(ssl); v != X509_V_OK && SSL_in_init(ssl))
      return {category::verification + static_cast<int>(v), tls_category()};
    if (why == SSL_ERROR_SYSCALL && ERR_peek_error() == 0 && system != 0)
      return {system, std::system_category()};
    return queued_error();
  }
};

tls_stream::tls_stream() noexcept = default;
tls_stream::tls_stream(tls_stream&&) noexcept = default;
tls_stream& tls_stream::operator=(tls_stream&&) noexcept = default;
tls_stream::~tls_stream() = default;

tls_stream tls_stream::connect(tcp_stream over, const tls_context& context, const std::string& host,
                               std::error_code& ec, std::stop_token stop) {
  ec.clear();
  tls_stream made;
  made.session_ = std::make_unique<session>(std::move(over), context);
  SSL* ssl = made.session_->ssl;
  if (address::parse(host)) {
    X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl), host.c_str());
  } else {
    SSL_set_tlsext_host_name(ssl, host.c_str());
    SSL_set1_host(ssl, host.c_str());
  }
  made.session_->attempt({detail::never, &stop}, ec, SSL_connect);
  return ec ? tls_stream() : std::move(made);
}

tls_stream tls_stream::accept(tcp_stream over, const tls_context& context, std::error_code& ec,
                              std::stop_token stop) {
  ec.clear();
  tls_stream made;
  made.session_ = std::make_unique<session>(std::move(over), context);
  made.session_->attempt({detail::never, &stop}, ec, SSL_accept);
  return ec ? tls_stream() : std::move(made);
}

std::size_t tls_stream::read_within(detail::bytes into, const detail::wait_limits& limits,
                                    std::error_code& ec) {
  ec.clear();
  if (session_ == nullptr) return ec = errc::fd_closed, 0;
  if (into.empty()) return 0;
  const int n = session_->attempt(limits, ec, [into](SSL* ssl) {
    return SSL_read(ssl, into.data(), static_cast<int>(std::min<std::size_t>(into.size(), INT_MAX)));
  });
  return n > 0 ? static_cast<std::size_t>(n) : 0;
}

std::size_t tls_stream::write_within(detail::const_bytes from, const detail::wait_limits& limits,
                                     std::error_code& ec) {
  ec.clear();
  if (session_ == nullptr) return ec = errc::fd_closed, 0;
  if (from.empty()) return 0;
  const int n = session_->attempt(limits, ec, [from](SSL* ssl) {
    return SSL_write(ssl, from.data(), static_cast<int>(std::min<std::size_t>(from.size(), INT_MAX)));
  });
  return n > 0 ? static_cast<std::size_t>(n) : 0;
}

std::size_t tls_stream::write_all_within(detail::const_bytes from, const detail::wait_limits& limits,
                                         std::error_code& ec) {
  ec.clear();
  if (session_ == nullptr) return ec = errc::fd_closed, 0;
  if (!detail::lock_within(session_->write_turn, limits)) {
    ec = limits.stop != nullptr && limits.stop->stop_requested() ? errc::stopped : errc::timed_out;
    return 0;
  }
  const std::lock_guard turn(session_->write_turn, std::adopt_lock);
  std::size_t done = 0;
  while (done < from.size() && !ec) done += write_within(from.subspan(done), limits, ec);
  return done;
}

void tls_stream::shutdown(std::error_code& ec, std::stop_token stop) {
  ec.clear();
  if (session_ == nullptr) return void(ec = errc::fd_closed);
  session_->attempt({detail::never, &stop}, ec, [](SSL* ssl) {
    const int n = SSL_shutdown(ssl);
    return n == 0 ? 1 : n;                           // ours is written; the other side's may come later
  });
}

std::string tls_stream::protocol() const { return session_ != nullptr ? SSL_get_version(session_->ssl) : ""; }
void* tls_stream::native_handle() const noexcept { return session_ != nullptr ? session_->ssl : nullptr; }
tcp_stream& tls_stream::next_layer() noexcept { return session_->over; }

detail::fd_handle& tls_stream::handle() noexcept {
  static detail::fd_handle none;
  return session_ != nullptr ? session_->over.handle() : none;
}
const detail::fd_handle& tls_stream::handle() const noexcept {
  return const_cast<tls_stream*>(this)->handle();
}

}  // namespace weft::inline v0::net
