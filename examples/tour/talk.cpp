// talk.cpp — goroutines that talk: two in turn, one to whoever is first, a thousand in a chain.
#include <optional>

#include "tour.hpp"
#include "weft/weft.hpp"

namespace tour {

using namespace std::chrono_literals;

void ping_pong() {
  constexpr long n = 2'000'000;
  say("Two goroutines pass a number to and fro over two unbuffered channels, %s times.", grouped(n).c_str());
  auto ping = weft::make_chan<long>(), pong = weft::make_chan<long>();
  weft::go([=] {
    for (long v : ping) pong.send(v + 1);
    pong.close();
  });
  const auto start = clock::now();
  long ball = 0;
  for (long i = 0; i < n; ++i) {
    ping.send(ball);
    ball = *pong.recv();
  }
  const auto took = clock::now() - start;
  ping.close();
  check(ball == n, "%s round trips, %.0f ns each", grouped(ball).c_str(), nanoseconds_each(took, n));
}

void select_with_timeout() {
  say("One channel answers after 20 ms, another after 2 s; nobody wants to wait longer than 100 ms.");
  auto quick = weft::make_chan<int>(1), slow = weft::make_chan<int>(1);
  weft::go([=] {
    weft::this_goroutine::sleep_for(20ms);
    quick.send(1);
  });
  weft::go([=] {
    weft::this_goroutine::sleep_for(2s);
    slow.send(2);
  });
  std::optional<int> answer;
  const auto take = [&](std::optional<int> v) { answer = v; };
  constexpr auto nothing = [] {};

  auto start = clock::now();
  const auto first = weft::select(weft::on_recv(quick, take), weft::on_recv(slow, take),
                                  weft::on_timeout(100ms, nothing));
  auto took = clock::now() - start;
  check(first == 0 && answer == 1 && took >= 20ms, "the first select got the quick answer after %.2f ms",
        milliseconds(took));

  start = clock::now();
  const auto second = weft::select(weft::on_recv(quick, take), weft::on_recv(slow, take),
                                   weft::on_timeout(100ms, nothing));
  took = clock::now() - start;
  check(second == 2 && took >= 100ms, "the second gave up after %.2f ms", milliseconds(took));
}

void prime_sieve() {
  say("Each prime is a goroutine that passes on what it does not divide: what comes out is prime.");
  const auto start = clock::now();
  auto numbers = weft::make_chan<long>();
  weft::go([=] {
    for (long i = 2;; ++i) numbers.send(i);
  });
  long prime = 0;
  for (int i = 0; i < 1000; ++i) {
    prime = *numbers.recv();
    auto rest = weft::make_chan<long>();
    weft::go([in = numbers, rest, prime] {
      for (;;)
        if (const long v = *in.recv(); v % prime != 0) rest.send(v);
    });
    numbers = rest;
  }
  check(prime == 7919, "the 1,000th prime is %s, found by 1,000 goroutines in %.2f s", grouped(prime).c_str(),
        seconds(clock::now() - start));
}   // the filters stay behind, waiting for ever

}  // namespace tour
