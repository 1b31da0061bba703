// blocking.cpp — system calls announced to the scheduler: what a short one costs, what long ones leave to
// others. And goroutines that are locked to their thread: a hand-over.
#include "weft/blocking.hpp"

#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <vector>

#include "report.hpp"
#include "weft/chan.hpp"
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
  for (long i = 0; i < n; ++i) weft::blocking([] { return ::getppid(); });
  report("syscall_short").ops(n, clock::now() - start);
}

// In turns, so that both see the same machine.
void announced_call() {
  constexpr int rounds = 201, calls = 20'000;
  const auto time_each = [](auto call) {
    const auto start = clock::now();
    for (int i = 0; i < calls; ++i) call();
    return std::chrono::duration<double, std::nano>(clock::now() - start).count() / calls;
  };
  const auto call = [] { return ::getppid(); };
  std::vector<double> bare, more;
  for (int r = 0; r < rounds; ++r) {
    bare.push_back(time_each(call));
    more.push_back(time_each([&] { return weft::blocking(call); }) - bare.back());
  }
  report("announced_call")
      .figure("bare_ns", percentile(bare, 0.5), 1)
      .figure("more_ns", percentile(more, 0.5), 1);
}

void locked_pingpong() {
  constexpr int n = 200'000;
  auto there = weft::make_chan<int>(), back = weft::make_chan<int>();
  weft::go([=] {
    while (auto v = there.recv()) back.send(*v);
  });
  weft::thread_lock here;
  const auto start = clock::now();
  for (int i = 0; i < n; ++i) {
    there.send(i);
    back.recv();
  }
  report("locked_pingpong").ops(n, clock::now() - start);
  there.close();
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

}  // namespace bench
