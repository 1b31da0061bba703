// tls_test.cpp — TLS streams: against each other and against openssl's own client and server.
#include "weft/net/tls.hpp"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <chrono>
#include <filesystem>
#include <string>
#include <vector>

#include "net/net_test.hpp"
#include "support/weft_test.hpp"
#include "weft/error.hpp"
#include "weft/process.hpp"
#include "weft/wait_group.hpp"

namespace {

using namespace std::chrono_literals;
using namespace weft_test;
namespace net = weft::net;

// A certificate for localhost that vouches for itself.
class Tls : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    char name[] = "/tmp/weft-tls-XXXXXX";
    directory = ::mkdtemp(name);
    weft::run([] {
      auto openssl = weft::process::start(
          "openssl",
          {.arguments = {"req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1",
                         "-nodes", "-keyout", key(), "-out", certificate(), "-days", "2", "-subj",
                         "/CN=localhost", "-addext", "subjectAltName=DNS:localhost"},
           .err = weft::child_stream::null});
      ASSERT_TRUE(openssl.wait().success());
    });
  }
  static void TearDownTestSuite() { std::filesystem::remove_all(directory); }
  static std::string key() { return directory / "key.pem"; }
  static std::string certificate() { return directory / "cert.pem"; }
  static net::tls_context server_context() { return net::tls_context::server(certificate(), key()); }

  static inline std::filesystem::path directory;
};

TEST_F(Tls, SpeaksWithItself) {
  for_each_procs([] {
    auto listener = net::tcp_listener::bind("127.0.0.1:0");
    const auto server = server_context();
    weft::wait_group all;
    all.go([&] {
      auto peer = net::tls_stream::accept(listener.accept(), server);
      char buffer[64];
      while (const std::size_t n = peer.read_some(room_in(buffer))) peer.write_all(room_in(buffer).first(n));
      std::error_code ec;
      peer.shutdown(ec);
    });
    auto client = net::tls_stream::connect(net::tcp_stream::connect(listener.local_endpoint()),
                                           net::tls_context::client(certificate()), "localhost");
    char buffer[64];
    for (int i = 0; i < 100; ++i) {
      client.write_all(bytes_of("a message"));
      ASSERT_EQ(text_of(buffer, client.read_exact(room_in(buffer).first(9))), "a message");
    }
    EXPECT_EQ(client.protocol(), "TLSv1.3");
    std::error_code ec;
    client.shutdown(ec);
    EXPECT_EQ(client.read_some(room_in(buffer)), 0u) << "the other side's goodbye";
    all.wait();
  });
}

TEST_F(Tls, BothWaysAtOnce) {
  for_each_procs([] {
    const std::size_t size = static_cast<std::size_t>(scaled(2 << 20, 1 << 16));
    auto listener = net::tcp_listener::bind("127.0.0.1:0");
    const auto server = server_context();
    const auto both_ways = [size](net::tls_stream& s) {
      std::vector<std::byte> out(size), in(size);
      for (std::size_t i = 0; i < size; ++i) out[i] = static_cast<std::byte>(i * 13 + i / 1000);
      weft::wait_group writer;
      writer.go([&] { s.write_all(out); });
      s.read_exact(in);
      writer.wait();
      EXPECT_TRUE(in == out);
    };
    weft::wait_group all;
    all.go([&] {
      auto peer = net::tls_stream::accept(listener.accept(), server);
      both_ways(peer);
    });
    auto client = net::tls_stream::connect(net::tcp_stream::connect(listener.local_endpoint()),
                                           net::tls_context::client(certificate()), "localhost");
    both_ways(client);
    all.wait();
  });
}

TEST_F(Tls, WhomItDoesNotTrustItRefuses) {
  for_each_procs([] {
    auto listener = net::tcp_listener::bind("127.0.0.1:0");
    const auto server = server_context();
    weft::wait_group all;
    all.go([&] {
      for (int i = 0; i < 3; ++i) {
        std::error_code ec;
        net::tls_stream::accept(listener.accept(), server, ec);
      }
    });
    const auto try_it = [&](const net::tls_context& context, const char* host) {
      std::error_code ec;
      net::tls_stream::connect(net::tcp_stream::connect(listener.local_endpoint()), context, host, ec);
      return ec;
    };
    EXPECT_EQ(try_it(net::tls_context::client(), "localhost").category(), net::tls_category()) << "not known";
    EXPECT_TRUE(try_it(net::tls_context::client(certificate()), "example.org")) << "another host's";
    auto anybody = net::tls_context::client();
    anybody.trust_anybody();
    EXPECT_FALSE(try_it(anybody, "example.org"));
    all.wait();
  });
}

TEST_F(Tls, AnEndWithoutGoodbyeIsAnError) {
  for_each_procs([] {
    auto listener = net::tcp_listener::bind("127.0.0.1:0");
    const auto server = server_context();
    weft::wait_group all;
    all.go([&] { auto peer = net::tls_stream::accept(listener.accept(), server); });
    auto client = net::tls_stream::connect(net::tcp_stream::connect(listener.local_endpoint()),
                                           net::tls_context::client(certificate()), "localhost");
    all.wait();
    char buffer[8];
    std::error_code ec;
    client.read_some(room_in(buffer), ec);
    EXPECT_TRUE(ec);
  });
}

TEST_F(Tls, AWaitHasALimit) {
  for_each_procs([] {
    auto listener = net::tcp_listener::bind("127.0.0.1:0");
    auto nobody = net::tcp_stream::connect(listener.local_endpoint());
    nobody.expires_after(20ms);
    std::error_code ec;
    net::tls_stream::connect(std::move(nobody), net::tls_context::client(), "localhost", ec);
    EXPECT_EQ(ec, weft::errc::timed_out) << "nobody answers the handshake";
  });
}

TEST_F(Tls, OpensslsServerUnderstandsIt) {
  for_each_procs([] {
    // A free port, perhaps taken by another one meanwhile; then openssl says so and ends.
    const auto at = net::tcp_listener::bind("127.0.0.1:0").local_endpoint();
    auto openssl =
        weft::process::start("openssl", {.arguments = {"s_server", "-accept", at.to_string(), "-cert",
                                                       certificate(), "-key", key(), "-www", "-naccept", "1"},
                                         .in = weft::child_stream::null,
                                         .out = weft::child_stream::pipe,
                                         .err = weft::child_stream::to_out});
    std::string said;
    char buffer[4096];
    while (said.find("ACCEPT") == said.npos) {
      const std::size_t n = openssl.out.read_some(room_in(buffer));
      ASSERT_NE(n, 0u) << said;
      said.append(buffer, n);
    }
    auto client = net::tls_stream::connect(net::tcp_stream::connect(at),
                                           net::tls_context::client(certificate()), "localhost");
    client.write_all(bytes_of("GET / HTTP/1.0\r\n\r\n"));
    std::string page;
    std::error_code ec;
    while (const std::size_t n = client.read_some(room_in(buffer), ec)) page.append(buffer, n);
    EXPECT_NE(page.find("200 ok"), page.npos) << page;
    client.close();
    openssl.wait();
  });
}

}  // namespace
