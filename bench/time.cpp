// time.cpp — sleeping goroutines: how many, how late, and what an idle process costs.
#include <algorithm>
#include <atomic>

#include "report.hpp"
#include "weft/chan.hpp"
#include "weft/go.hpp"
#include "weft/this_goroutine.hpp"
#include "weft/wait_group.hpp"
#include "workloads.hpp"

namespace bench {

using namespace std::chrono_literals;
using weft::this_goroutine::sleep_for;

namespace {

template <class Unit>
double count(clock::duration d) {
  return std::chrono::duration<double, Unit>(d).count();
}

std::chrono::milliseconds length_of(int sleeper, int turn) {
  return std::chrono::milliseconds(1 + (sleeper * 7 + turn * 13) % 20);
}

// One sleep that says how late it ended, in microseconds; negative: too early.
double measured_sleep(std::chrono::milliseconds d) {
  const auto due = clock::now() + d;
  sleep_for(d);
  return count<std::micro>(clock::now() - due);
}

void print_share(report& line, const usage& before, clock::duration window) {
  const usage now = usage_now();
  line.figure("cpu_pct", 100.0 * static_cast<double>((now.cpu - before.cpu).count()) /
                             static_cast<double>(window.count()), 3);
  line.figure("switches_per_s", static_cast<double>(now.switches - before.switches) /
                                    std::chrono::duration<double>(window).count());
}

}  // namespace

// Every 16th goroutine also reads the clock around its sleeps; the others do the peers' work and no more.
void timers_100k() {
  constexpr int sleepers = 100'000, turns = 10, measured_one_in = 16;
  std::vector<double> late(static_cast<std::size_t>(sleepers / measured_one_in * turns));
  weft::wait_group all_done;
  const auto start = clock::now();
  for (int i = 0; i < sleepers; ++i) {
    all_done.add(1);
    if (i % measured_one_in == 0) {
      weft::go([&all_done, i, mine = &late[static_cast<std::size_t>(i / measured_one_in * turns)]] {
        for (int j = 0; j < turns; ++j) mine[j] = measured_sleep(length_of(i, j));
        all_done.done();
      });
    } else {
      weft::go([&all_done, i] {
        for (int j = 0; j < turns; ++j) sleep_for(length_of(i, j));
        all_done.done();
      });
    }
  }
  all_done.wait();
  const auto took = clock::now() - start;
  const auto early = std::count_if(late.begin(), late.end(), [](double us) { return us < 0; });
  report("timers_100k")
      .ops(sleepers * turns, took)
      .figure("late_us_p50", percentile(late, 0.5))
      .figure("late_us_p99", percentile(late, 0.99))
      .figure("early", static_cast<double>(early));
  require(early == 0, "timers_100k", "a sleep ended early");
}

void idle_handoff() {
  auto sent = weft::make_chan<clock::time_point>();
  weft::go([sent] {
    for (int i = 0; i < 2000; ++i) {
      sleep_for(500us);
      sent.send(clock::now());
    }
    sent.close();
  });
  std::vector<double> took;
  while (auto at = sent.recv()) took.push_back(count<std::nano>(clock::now() - *at));
  report("idle_handoff").figure("ns_p50", percentile(took, 0.5)).figure("ns_p99", percentile(took, 0.99));
}

void idle_cpu() {
  auto never = weft::make_chan<bool>();
  for (int i = 0; i < 1000; ++i) weft::go([never] { never.recv(); });
  sleep_for(500ms);   // they have parked, and the idle threads have stopped spinning
  const usage before = usage_now();
  const auto start = clock::now();
  sleep_for(5s);
  report line("idle_cpu");
  print_share(line, before, clock::now() - start);
}

// They gather at a channel first, so that starting them, however long it takes, is not in the window.
void sleepers_1m() {
  constexpr int n = 1'000'000;
  constexpr clock::duration length = 10s, margin = 500ms;
  std::atomic<int> gathered{0}, asleep{0};
  const auto begin = weft::make_chan<bool>();
  weft::wait_group all_done;
  all_done.add(n);
  for (int i = 0; i < n; ++i) {
    weft::go([&] {
      gathered.fetch_add(1, std::memory_order_relaxed);
      begin.recv();
      asleep.fetch_add(1, std::memory_order_relaxed);
      sleep_for(length);
      all_done.done();
    });
  }
  while (gathered.load(std::memory_order_relaxed) < n) sleep_for(1ms);
  sleep_for(margin);
  const auto first_asleep = clock::now();
  begin.close();
  while (asleep.load(std::memory_order_relaxed) < n) sleep_for(1ms);
  const auto last_asleep = clock::now();
  sleep_for(margin);
  const usage before = usage_now();
  const auto window_start = clock::now();
  sleep_for(first_asleep + length - margin - window_start);   // until shortly before the first of them wakes
  report line("sleepers_1m");
  line.figure("window_ms", count<std::milli>(clock::now() - window_start));
  print_share(line, before, clock::now() - window_start);
  all_done.wait();
  line.figure("last_late_ms", count<std::milli>(clock::now() - last_asleep - length));
}

}  // namespace bench
