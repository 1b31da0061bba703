// loops.cpp — goroutines that compute and never call Weft: how late is another one that has to do beside
// them, and what does it cost that they are made to share the processors.
#include <algorithm>
#include <atomic>
#include <cstdint>
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

using milliseconds = std::chrono::duration<double, std::milli>;

// Goroutines that compute: one for each processor all the time, whom nobody interrupts when they are alone,
// and the others while `crowd` is set.
class loops {
 public:
  explicit loops(int goroutines) : others_(std::max(0, goroutines - weft::maxprocs())) {
    for (int i = 0; i < weft::maxprocs(); ++i)
      all_.go([this] {
        while (!stop_) compute();
      });
    for (int i = 0; i < others_; ++i)
      all_.go([this] {
        while (begin_.recv()) {
          while (crowd_) compute();
          in_crowd_.done();
        }
      });
  }
  ~loops() {
    stop_ = true;
    begin_.close();
    all_.wait();
  }
  void begin_crowd() {
    crowd_ = true;
    in_crowd_.add(others_);
    for (int i = 0; i < others_; ++i) begin_.send(true);
  }
  void end_crowd() {
    crowd_ = false;
    in_crowd_.wait();
  }
  // Pieces of work in a millisecond, over the time that it sleeps.
  double speed() {
    const int before = pieces_;
    const auto start = clock::now();
    weft::this_goroutine::sleep_for(300ms);
    return (pieces_ - before) / milliseconds(clock::now() - start).count();
  }

 private:
  // In registers: a loop through memory has one of two speeds, by the mood of the core's store forwarding.
  void compute() {
    std::uint64_t x = seed_.load(std::memory_order_relaxed);
    for (int i = 0; i < 5'000; ++i) x = x * 6364136223846793005u + 1;
    if (x == 0) seed_ = 1;                           // so that it is not left out
    pieces_.fetch_add(1, std::memory_order_relaxed);
  }

  const int others_;
  std::atomic<bool> stop_{false}, crowd_{false};
  std::atomic<int> pieces_{0};
  std::atomic<std::uint64_t> seed_{1};
  weft::chan<bool> begin_ = weft::make_chan<bool>();
  weft::wait_group all_, in_crowd_;
};

}  // namespace

// How much less 64 of them get done that share the processors. In turns, since a machine has slow seconds;
// and only when each of the crowd has had its first slice.
void compute_64() {
  constexpr int rounds = 20;
  loops work(64);
  std::vector<double> cost;
  for (int r = 0; r < rounds; ++r) {
    const double alone = work.speed();
    work.begin_crowd();
    weft::this_goroutine::sleep_for(700ms);
    cost.push_back(100 * (1 - work.speed() / alone));
    work.end_crowd();
  }
  report("compute_64").figure("cost_percent_p50", percentile(cost, 0.5), 2);
}

}  // namespace bench
