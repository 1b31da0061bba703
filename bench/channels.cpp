// channels.cpp — values through channels: unbuffered, buffered, many to many, select, a ring.
#include <optional>

#include "report.hpp"
#include "weft/chan.hpp"
#include "weft/go.hpp"
#include "weft/select.hpp"
#include "weft/wait_group.hpp"
#include "workloads.hpp"

namespace bench {

namespace {

constexpr auto ignore = [](std::optional<long>) {};

}  // namespace

void chan_pingpong() {
  constexpr long n = 2'000'000;
  auto ping = weft::make_chan<long>(), pong = weft::make_chan<long>();
  weft::go([ping, pong] {
    while (auto v = ping.recv()) pong.send(*v);
    pong.close();
  });
  const auto start = clock::now();
  for (long i = 0; i < n; ++i) {
    ping.send(i);
    pong.recv();
  }
  report("chan_pingpong").ops(n, clock::now() - start);
  ping.close();
}

void chan_buffered() {
  constexpr long n = 10'000'000;
  auto values = weft::make_chan<long>(128);
  const auto start = clock::now();
  weft::go([values] {
    for (long i = 0; i < n; ++i) values.send(i);
    values.close();
  });
  long sum = 0;
  while (auto v = values.recv()) sum += *v;
  report("chan_buffered").ops(n, clock::now() - start);
  require(sum == n * (n - 1) / 2, "chan_buffered", "the sum of the values");
}

void chan_mpmc() {
  constexpr long n = 4'000'000;
  auto values = weft::make_chan<long>(128);
  weft::wait_group producers, consumers;
  const auto start = clock::now();
  for (int i = 0; i < 4; ++i) {
    producers.add(1);
    weft::go([&producers, values] {
      for (long k = 0; k < n / 4; ++k) values.send(k);
      producers.done();
    });
    consumers.add(1);
    weft::go([&consumers, values] {
      while (values.recv()) {
      }
      consumers.done();
    });
  }
  producers.wait();
  values.close();
  consumers.wait();
  report("chan_mpmc").ops(n, clock::now() - start);
}

void select_pingpong() {
  constexpr long n = 1'000'000;
  auto ping = weft::make_chan<long>(), pong = weft::make_chan<long>(), quit = weft::make_chan<long>();
  weft::go([ping, pong, quit] {
    for (bool more = true; more;)
      weft::select(weft::on_recv(ping,
                                 [&](std::optional<long> v) {
                                   if (v) pong.send(*v);
                                   else more = false;
                                 }),
                   weft::on_recv(quit, [&](std::optional<long>) { more = false; }));
  });
  const auto start = clock::now();
  for (long i = 0; i < n; ++i) {
    ping.send(i);
    weft::select(weft::on_recv(pong, ignore), weft::on_recv(quit, ignore));
  }
  report("select_pingpong").ops(n, clock::now() - start);
  ping.close();
}

void ring_1000() {
  constexpr long members = 1000, hops = 2'000'000, rounds = hops / members;
  const auto first = weft::make_chan<long>();
  auto in = first;
  for (long i = 0; i < members - 1; ++i) {
    auto out = weft::make_chan<long>();
    weft::go([in, out] {
      while (auto v = in.recv()) out.send(*v);
    });
    in = out;
  }
  const auto start = clock::now();
  auto done = weft::make_chan<bool>();
  weft::go([in, first, done] {
    for (long i = 0; i < rounds; ++i) {
      in.recv();
      if (i < rounds - 1) first.send(i);
    }
    done.send(true);
  });
  first.send(0);
  done.recv();
  report("ring_1000").ops(hops, clock::now() - start);
}

}  // namespace bench
