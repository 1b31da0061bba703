// blocking.cpp — goroutines that keep their thread. System calls announced to the scheduler: what a short one
// costs, what long ones leave to others. Loops: how late is a goroutine that has to do beside them.
#include "weft/blocking.hpp"

#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

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

void syscall_short() {
  constexpr long n = 5'000'000;
  const auto start = clock::now();
  for (long i = 0; i < n; ++i) weft::blocking([] { return syscall(SYS_getppid); });
  report("syscall_short").ops(n, clock::now() - start);
}

void blocking_64() {
  std::atomic<bool> stop{false};
  std::atomic<long> calls{0};
  weft::wait_group all;
  for (int i = 0; i < 64; ++i) {
    all.add(1);
    weft::go([&] {
      for (; !stop.load(std::memory_order_relaxed); ++calls)
        weft::blocking([] {
          const timespec a_millisecond{0, 1'000'000};
          return syscall(SYS_nanosleep, &a_millisecond, nullptr);
        });
      all.done();
    });
  }
  const auto start = clock::now();
  long yields = 0;
  for (; clock::now() - start < 1s; ++yields) weft::this_goroutine::yield();
  stop = true;
  report("blocking_64").ops(yields, clock::now() - start).figure("calls", static_cast<double>(calls));
  all.wait();
}

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

}  // namespace bench
