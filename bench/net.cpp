// net.cpp — sockets over loopback.
#include <array>
#include <cstring>

#include "report.hpp"
#include "weft/go.hpp"
#include "weft/net/tcp.hpp"
#include "weft/wait_group.hpp"
#include "workloads.hpp"

namespace bench {
namespace {

constexpr std::size_t message = 64;
using buffer = std::array<std::byte, 512>;           // what comes is short of it: then nothing is left

void serve(weft::net::tcp_stream peer) {
  buffer b;
  while (const std::size_t n = peer.read_some(b)) peer.write_all(std::span(b).first(n));
}

void ask(const weft::net::endpoint& server, int times) {
  auto peer = weft::net::tcp_stream::connect(server);
  buffer b{};
  for (int i = 0; i < times; ++i) {
    peer.write_all(std::span(b).first(message));
    for (std::size_t got = 0; got < message; got += peer.read_some(b)) {}
  }
}

}  // namespace

void tcp_echo_100() {
  constexpr int connections = 100, trips = 400'000;
  auto listener = weft::net::tcp_listener::bind("127.0.0.1:0");
  weft::wait_group servers, clients;
  servers.go([&] {
    for (int i = 0; i < connections; ++i)
      servers.go([peer = listener.accept()]() mutable { serve(std::move(peer)); });
  });
  const auto start = clock::now();
  for (int i = 0; i < connections; ++i)
    clients.go([at = listener.local_endpoint()] { ask(at, trips / connections); });
  clients.wait();
  report("tcp_echo_100").ops(trips, clock::now() - start);
  servers.wait();
}

}  // namespace bench
