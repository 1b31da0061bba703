// trees.cpp — goroutines that start goroutines: the skynet tree, Fibonacci, the chain of the prime sieve.
#include "report.hpp"
#include "weft/chan.hpp"
#include "weft/go.hpp"
#include "workloads.hpp"

namespace bench {

namespace {

void skynet_node(const weft::chan<long>& up, long number, long size, long children) {
  if (size == 1) {
    up.send(number);
    return;
  }
  auto results = weft::make_chan<long>();
  const long part = size / children;
  for (long i = 0; i < children; ++i) weft::go(skynet_node, results, number + i * part, part, children);
  long sum = 0;
  for (long i = 0; i < children; ++i) sum += *results.recv();
  up.send(sum);
}

long fibonacci(int n) {
  if (n < 2) return n;
  auto left = weft::make_chan<long>(1);
  weft::go([left, n] { left.send(fibonacci(n - 1)); });
  const long right = fibonacci(n - 2);
  return right + *left.recv();
}

}  // namespace

void skynet_1m() {
  auto result = weft::make_chan<long>();
  const auto start = clock::now();
  weft::go(skynet_node, result, 0L, 1'000'000L, 10L);
  const long sum = *result.recv();
  report("skynet_1m").ops(1'111'111, clock::now() - start);
  require(sum == 499'999'500'000, "skynet_1m", "the sum of the leaves");
}

void fib_25() {
  const auto start = clock::now();
  const long value = fibonacci(25);
  report("fib_25").ops(242'785, clock::now() - start);
  require(value == 75'025, "fib_25", "fib(25)");
}

void sieve_1000() {
  const auto start = clock::now();
  auto numbers = weft::make_chan<long>();
  weft::go([numbers] {
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
  report("sieve_1000").ops(2'760'000, clock::now() - start);
  require(prime == 7919, "sieve_1000", "the 1,000th prime");
}   // the filters wait for ever; the end of the world takes them

}  // namespace bench
