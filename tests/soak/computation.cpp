// computation.cpp — many goroutines that compute for a millisecond and never call Weft. They do not need a
// thread each, and none is forgotten.
#include <time.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdio>

#include "command.hpp"
#include "watch.hpp"
#include "weft/weft.hpp"

namespace soak {

namespace {

std::int64_t thread_time_ns() {
  timespec t{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return t.tv_sec * 1'000'000'000LL + t.tv_nsec;
}

[[gnu::noinline]] void compute(std::int64_t rounds) {
  for (volatile std::int64_t n = 0; n < rounds;) n = n + 1;
}

// How many rounds take a millisecond: by the fastest of some tries.
std::int64_t rounds_per_ms() {
  constexpr std::int64_t rounds = 1'000'000;
  std::int64_t best = INT64_MAX;
  for (int i = 0; i < 5; ++i) {
    const std::int64_t begun = thread_time_ns();
    compute(rounds);
    best = std::min(best, thread_time_ns() - begun);
  }
  return rounds * 1'000'000 / best;
}

}  // namespace

void run_computation(const command& how) {
  const std::int64_t rounds = rounds_per_ms();
  std::atomic<std::size_t> ended{0};
  const auto begun = clock::now();
  weft::run({.maxprocs = how.procs}, [&] {
    const weft::wait_group all;
    for (std::size_t i = 0; i < how.goroutines; ++i)
      all.go([&] {
        compute(rounds);
        ++ended;
      });
    all.wait();
    weft::print_schedtrace(1);                       // how many threads it took
  });
  if (ended != how.goroutines) fail("not all computations have ended");
  std::printf("  %zu computations of 1 ms: %.0f ms\n", how.goroutines, milliseconds(clock::now() - begun));
}

}  // namespace soak
