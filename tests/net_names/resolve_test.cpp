// resolve_test.cpp — names to addresses by c-ares, and connections by name.
#include "weft/net/resolve.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "net/net_test.hpp"
#include "support/weft_test.hpp"
#include "weft/error.hpp"
#include "weft/wait_group.hpp"

namespace {

using namespace weft_test;
namespace net = weft::net;

TEST(Resolve, AnAddressIsItself) {
  for_each_procs([] {
    EXPECT_EQ(net::resolve("192.0.2.7"), std::vector{*net::address::parse("192.0.2.7")});
    EXPECT_EQ(net::resolve("2001:db8::1"), std::vector{*net::address::parse("2001:db8::1")});
  });
}

TEST(Resolve, TheHostsFileIsRead) {
  for_each_procs([] {
    const auto found = net::resolve("localhost");
    EXPECT_TRUE(std::ranges::any_of(found, [](const net::address& a) { return a.is_loopback(); }));
  });
}

TEST(Resolve, AStopRequestEndsIt) {
  for_each_procs([] {
    std::stop_source source;
    source.request_stop();
    std::error_code ec;
    net::resolve("a-name-that-nobody-has.invalid", ec, source.get_token());
    EXPECT_TRUE(ec);
  });
}

TEST(ConnectByName, FindsTheAddressThatAnswers) {
  for_each_procs([] {
    auto listener = net::tcp_listener::bind("127.0.0.1:0");
    weft::wait_group all;
    all.go([&] {
      auto peer = listener.accept();
      peer.write_all(bytes_of("found"));
    });
    // ::1 may be the first; nobody listens there.
    auto stream = net::connect("localhost", listener.local_endpoint().port());
    char buffer[8];
    EXPECT_EQ(text_of(buffer, stream.read_exact(room_in(buffer).first(5))), "found");
    all.wait();
  });
}

TEST(ConnectByName, SaysWhyNot) {
  for_each_procs([] {
    auto listener = net::tcp_listener::bind("127.0.0.1:0");
    const auto port = listener.local_endpoint().port();
    listener.close();
    std::error_code ec;
    net::connect("127.0.0.1", port, ec);
    EXPECT_EQ(ec, std::errc::connection_refused);
  });
}

}  // namespace
