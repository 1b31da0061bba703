// net_test.cpp — Go's tests of deadlines, closing and TCP: net/timeout_test.go, net/net_test.go,
// net/tcpsock_test.go.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <vector>

#include "net/net_test.hpp"
#include "weft/error.hpp"
#include "weft/net/tcp.hpp"
#include "weft/wait_group.hpp"
#include "weft_test.hpp"

namespace {

using namespace std::chrono_literals;
using namespace weft_test;
using clock_type = std::chrono::steady_clock;
using weft::errc;
namespace net = weft::net;

struct connection {
  net::tcp_stream client, server;
};

connection connect_through(net::tcp_listener& listener) {
  connection both;
  weft::wait_group all;
  all.go([&] { both.server = listener.accept(); });
  both.client = net::tcp_stream::connect(listener.local_endpoint());
  all.wait();
  return both;
}

connection make_connection() {
  auto listener = net::tcp_listener::bind("127.0.0.1:0");
  return connect_through(listener);
}

std::error_code error_of_read(net::tcp_stream& s) {
  char buffer[64];
  std::error_code ec;
  s.read_some(room_in(buffer), ec);
  return ec;
}

// Until nothing more goes into the connection.
std::error_code error_of_full_write(net::tcp_stream& s) {
  const std::vector<std::byte> much(1 << 20);
  std::error_code ec;
  while (!ec) s.write_all(much, ec);
  return ec;
}

TEST(net_test, TestDialTimeout) {
  for_each_procs([] {
    auto listener = net::tcp_listener::bind("127.0.0.1:0");
    std::error_code ec;
    net::tcp_stream::connect_for(listener.local_endpoint(), std::chrono::hours(1'000'000), ec);
    EXPECT_FALSE(ec) << "a very long limit";
    std::stop_source source;
    source.request_stop();
    net::tcp_stream::connect(net::endpoint(*net::address::parse("192.0.2.1"), 9), ec, source.get_token());
    EXPECT_TRUE(ec) << "no answer comes from there, and it is cancelled";
  });
}

TEST(net_test, TestAcceptTimeout) {
  for_each_procs([] {
    auto listener = net::tcp_listener::bind("127.0.0.1:0");
    std::error_code ec;
    for (const auto after : {-5s, 0s}) {
      listener.expires_at(clock_type::now() + after);
      listener.accept(ec);
      EXPECT_EQ(ec, errc::timed_out);
    }
    listener.expires_after(10ms);
    listener.accept(ec);
    EXPECT_EQ(ec, errc::timed_out);
  });
}

TEST(net_test, TestAcceptTimeoutMustNotReturn) {
  for_each_procs([] {
    auto listener = net::tcp_listener::bind("127.0.0.1:0");
    listener.expires_at(clock_type::now() - 5s);
    listener.never_expires();
    weft::wait_group all;
    std::atomic<bool> returned{false};
    all.go([&] {
      std::error_code ec;
      listener.accept(ec);
      returned = true;
      EXPECT_EQ(ec, errc::fd_closed);
    });
    wait_until_parked(1);
    EXPECT_FALSE(returned);
    listener.close();
    all.wait();
  });
}

TEST(net_test, TestReadTimeout) {
  for_each_procs([] {
    auto [client, server] = make_connection();
    client.write_all(bytes_of("READ TIMEOUT"));
    char buffer[64];
    EXPECT_EQ(text_of(buffer, server.read_some(room_in(buffer))), "READ TIMEOUT");
    server.reads_expire_at(clock_type::now() + 5ms);
    EXPECT_EQ(error_of_read(server), errc::timed_out);
    EXPECT_EQ(error_of_read(server), errc::timed_out) << "it stays so";
    server.write_all(bytes_of("writes go on"));
  });
}

TEST(net_test, TestReadTimeoutMustNotReturn) {
  for_each_procs([] {
    auto [client, server] = make_connection();
    server.reads_expire_at(clock_type::now() - 5s);
    server.never_expires();
    weft::wait_group all;
    all.go([&server = server] { EXPECT_EQ(error_of_read(server), errc::fd_closed); });
    wait_until_parked(1);
    server.close();
    all.wait();
  });
}

TEST(net_test, TestWriteTimeout) {
  for_each_procs([] {
    auto [client, server] = make_connection();
    client.writes_expire_at(clock_type::now() + 20ms);
    EXPECT_EQ(error_of_full_write(client), errc::timed_out);
    EXPECT_EQ(error_of_full_write(client), errc::timed_out) << "it stays so";
  });
}

TEST(net_test, TestReadTimeoutUnblocksRead) {
  for_each_procs([] {
    auto [client, server] = make_connection();
    weft::wait_group all;
    all.go([&server = server] { EXPECT_EQ(error_of_read(server), errc::timed_out); });
    wait_until_parked(1);
    server.reads_expire_at(clock_type::now() - 1s);
    all.wait();
  });
}

TEST(net_test, TestReadTimeoutFluctuation) {
  for_each_procs([] {
    auto [client, server] = make_connection();
    for (auto limit = 1ms; limit <= 16ms; limit *= 2) {
      const auto start = clock_type::now();
      server.expires_after(limit);
      EXPECT_EQ(error_of_read(server), errc::timed_out);
      EXPECT_GE(clock_type::now() - start, limit);
    }
  });
}

TEST(net_test, TestVariousDeadlines) {
  for_each_procs([] {
    auto listener = net::tcp_listener::bind("127.0.0.1:0");
    using std::chrono::nanoseconds;
    for (const nanoseconds limit :
         {nanoseconds(1), nanoseconds(100us), nanoseconds(1ms), nanoseconds(20ms)}) {
      weft::wait_group all;
      for (int i = 0; i < 8; ++i) {
        all.go([both = connect_through(listener), limit]() mutable {
          both.client.expires_after(limit);
          const std::error_code ec = error_of_read(both.client);
          EXPECT_EQ(ec, errc::timed_out);
        });
      }
      all.wait();
    }
  });
}

TEST(net_test, TestConcurrentSetDeadline) {
  for_each_procs([] {
    auto [client, server] = make_connection();
    weft::wait_group setters, readers;
    for (int i = 0; i < 8; ++i)
      setters.go([&server = server, i] {
        for (int k = 0; k < scaled(200); ++k)
          server.reads_expire_at(clock_type::now() + std::chrono::milliseconds((i + k) % 3 - 1));
      });
    for (int i = 0; i < 4; ++i)
      readers.go([&server = server] {
        for (int k = 0; k < scaled(50); ++k) EXPECT_EQ(error_of_read(server), errc::timed_out);
      });
    setters.wait();
    server.reads_expire_at(clock_type::now());
    readers.wait();
  });
}

TEST(net_test, TestCloseUnblocksRead) {
  for_each_procs([] {
    auto [client, server] = make_connection();
    weft::wait_group all;
    all.go([&server = server] { EXPECT_EQ(error_of_read(server), errc::fd_closed); });
    wait_until_parked(1);
    server.close();
    all.wait();
    EXPECT_EQ(error_of_read(client), std::error_code()) << "the end of the stream";
  });
}

TEST(net_test, TestConnClose) {
  for_each_procs([] {
    auto [client, server] = make_connection();
    client.close();
    client.close();
    EXPECT_EQ(error_of_read(client), errc::fd_closed);
    std::error_code ec;
    client.write_all(bytes_of("x"), ec);
    EXPECT_EQ(ec, errc::fd_closed);
    EXPECT_EQ(client.native_handle(), -1);
  });
}

TEST(net_test, TestListenerClose) {
  for_each_procs([] {
    auto listener = net::tcp_listener::bind("127.0.0.1:0");
    const auto at = listener.local_endpoint();
    listener.close();
    std::error_code ec;
    listener.accept(ec);
    EXPECT_EQ(ec, errc::fd_closed);
    auto again = net::tcp_listener::bind(at);        // the port is free at once
    EXPECT_EQ(again.local_endpoint(), at);
  });
}

TEST(net_test, TestCloseWrite) {
  for_each_procs([] {
    auto [client, server] = make_connection();
    client.write_all(bytes_of("last words"));
    client.shutdown_write();
    char buffer[64];
    EXPECT_EQ(text_of(buffer, server.read_exact(room_in(buffer).first(10))), "last words");
    EXPECT_EQ(server.read_some(room_in(buffer)), 0u);
    server.write_all(bytes_of("answer"));
    EXPECT_EQ(text_of(buffer, client.read_exact(room_in(buffer).first(6))), "answer");
    std::error_code ec;
    client.write_all(bytes_of("x"), ec);
    EXPECT_EQ(ec, std::errc::broken_pipe);
  });
}

TEST(net_test, TestZeroByteRead) {
  for_each_procs([] {
    auto [client, server] = make_connection();
    EXPECT_EQ(client.read_some({}), 0u);
  });
}

TEST(net_test, TestNotTemporaryRead) {
  for_each_procs([] {
    auto [client, server] = make_connection();
    client.write_all(bytes_of("unread"));
    server.close();                                  // with something unread: a reset
    std::error_code ec;
    while (!ec) client.write_all(bytes_of("x"), ec);
    EXPECT_TRUE(ec == std::errc::connection_reset || ec == std::errc::broken_pipe) << ec.message();
  });
}

TEST(net_test, TestDialClosedPortFailFast) {
  for_each_procs([] {
    const auto nobody = net::tcp_listener::bind("127.0.0.1:0").local_endpoint();
    std::error_code ec;
    net::tcp_stream::connect(nobody, ec);
    EXPECT_EQ(ec, std::errc::connection_refused);
  });
}

TEST(net_test, TestTCPConcurrentAccept) {
  for_each_procs([] {
    constexpr int acceptors = 10, connections = 200;
    auto listener = net::tcp_listener::bind("127.0.0.1:0");
    std::atomic<int> accepted{0};
    weft::wait_group all, clients;
    for (int i = 0; i < acceptors; ++i)
      all.go([&] {
        std::error_code ec;
        for (;;) {
          auto peer = listener.accept(ec);
          if (ec) break;
          ++accepted;
        }
        EXPECT_EQ(ec, errc::fd_closed);
      });
    for (int i = 0; i < connections; ++i)
      clients.go([&] {
        auto stream = net::tcp_stream::connect(listener.local_endpoint());
        EXPECT_EQ(error_of_read(stream), std::error_code());
      });
    clients.wait();
    listener.close();
    all.wait();
    EXPECT_EQ(accepted, connections);
  });
}

TEST(net_test, TestTCPStress) {
  for_each_procs([] {
    const int rounds = scaled(200, 20);
    constexpr int connections = 10;
    auto listener = net::tcp_listener::bind("127.0.0.1:0");
    weft::wait_group all;
    for (int i = 0; i < connections; ++i) {
      auto both = std::make_shared<connection>(connect_through(listener));
      const auto pass_on = [rounds](net::tcp_stream& s, bool first) {
        std::vector<std::byte> message(100);
        for (int k = 0; k < rounds; ++k) {
          if (first) s.write_all(message);
          EXPECT_EQ(s.read_exact(message), message.size());
          if (!first) s.write_all(message);
        }
      };
      all.go([both, pass_on] { pass_on(both->client, true); });
      all.go([both, pass_on] { pass_on(both->server, false); });
    }
    all.wait();
  });
}

TEST(net_test, TestTCPListenAfterClose) {
  for_each_procs([] {
    for (int i = 0; i < 10; ++i) {
      auto listener = net::tcp_listener::bind("127.0.0.1:0");
      weft::wait_group all;
      all.go([&] {
        std::error_code ec;
        listener.accept(ec);
        EXPECT_EQ(ec, errc::fd_closed);
      });
      wait_until_parked(1);
      listener.close();
      all.wait();
    }
  });
}

}  // namespace
