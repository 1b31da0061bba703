// worker_pool.cpp — a fixed number of workers takes jobs from one channel and answers on another.
#include <cstdio>

#include "weft/weft.hpp"

static long sum_of_squares(long n) {
  auto jobs = weft::make_chan<long>(64);
  auto squares = weft::make_chan<long>(64);

  weft::wait_group workers;
  for (int i = 0; i < 4; ++i)
    workers.go([=] {
      for (long job : jobs) squares.send(job * job);   // ends when jobs is closed and empty
    });
  weft::go([=] {
    for (long i = 1; i <= n; ++i) jobs.send(i);
    jobs.close();
  });
  weft::go([=] {
    workers.wait();
    squares.close();
  });

  long sum = 0;
  while (auto square = squares.recv()) sum += *square;
  return sum;
}

int main() {
  return weft::run([] {
    constexpr long n = 1000;
    const long sum = sum_of_squares(n);
    std::printf("1 + 4 + 9 + ... + %ld = %ld\n", n * n, sum);
    return sum == n * (n + 1) * (2 * n + 1) / 6 ? 0 : 1;
  });
}
