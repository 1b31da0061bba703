// loops.cpp — goroutines that compute and never call Weft: how late is another one that has to do beside
// them, and what does it cost that they are made to share the processors.
#include <algorithm>
#include <atomic>
#include <vector>

#include "report.hpp"
#include "weft/go.hpp"
#include "weft/runtime.hpp"
#include "weft/this_goroutine.hpp"
#include "weft/wait_group.hpp"
#include "workloads.hpp"

namespace bench {

using namespace std::chrono_literals;

void preempt_ticker() {
  constexpr int ticks = 100, loops_per_processor = 4;
  std::atomic<bool> stop{false};
  weft::wait_group all;
  for (int i = 0; i < loops_per_processor * weft::maxprocs(); ++i) {
    all.add(1);
    weft::go([&] {
      for (volatile int x = 0; !stop.load(std::memory_order_relaxed);)
        for (int k = 0; k < 1'000'000; ++k) x = x + k;
      all.done();
    });
  }
  std::vector<double> late_ms;
  for (int i = 0; i < ticks; ++i) {
    const auto start = clock::now();
    weft::this_goroutine::sleep_for(1ms);
    late_ms.push_back(std::chrono::duration<double, std::milli>(clock::now() - start).count() - 1);
  }
  stop = true;
  std::sort(late_ms.begin(), late_ms.end());
  report("preempt_ticker")
      .figure("late_ms_p50", late_ms[50], 2)
      .figure("late_ms_p90", late_ms[90], 2)
      .figure("late_ms_max", late_ms.back(), 2);
  all.wait();
}

namespace {

void compute() {
  volatile int x = 0;
  for (int i = 0; i < 100'000; ++i) x = x + i;
}

// `pieces` of work by so many goroutines.
clock::duration time_of(int goroutines, int pieces) {
  std::atomic<int> left{pieces};
  weft::wait_group all;
  const auto start = clock::now();
  for (int i = 0; i < goroutines; ++i)
    all.go([&] {
      while (left.fetch_sub(1, std::memory_order_relaxed) > 0) compute();
    });
  all.wait();
  return clock::now() - start;
}

}  // namespace

// The same work by one goroutine for each processor, whom nobody interrupts, and by 64. In turns.
void compute_64() {
  constexpr int rounds = 9, pieces = 4'000;
  std::vector<double> cost;
  for (int r = 0; r < rounds; ++r) {
    const auto alone = time_of(weft::maxprocs(), pieces), crowd = time_of(64, pieces);
    cost.push_back(100 * (std::chrono::duration<double>(crowd) / alone - 1));
  }
  report("compute_64")
      .figure("cost_percent_p50", percentile(cost, 0.5), 2)
      .figure("cost_percent_min", percentile(cost, 0), 2);
}

}  // namespace bench
