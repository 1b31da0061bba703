// fairness_test.cpp — who gets to run: field cases of starvation, of full queues and of the run-next slot.
#include <atomic>
#include <string>
#include <vector>

#include "field.hpp"
#include "weft/chan.hpp"
#include "weft/go.hpp"
#include "weft/join_handle.hpp"
#include "weft/this_goroutine.hpp"
#include "weft/wait_group.hpp"

using namespace field;
using weft::this_goroutine::sleep_for;
using weft::this_goroutine::yield;

// Four goroutines spin until all four have started, while main yields: every runnable one must be picked.
// Each needs a core for a moment; on two cores the kernel passes them around, some milliseconds a round.
TEST(field, F01) {
  with_procs(4, [] {
    for (int round = 0; round < scaled(50, 5); ++round) {
      std::atomic<int> started{0}, ended{0};
      const auto start = clock::now();
      for (int i = 0; i < 4; ++i)
        weft::go([&] {
          started.fetch_add(1);
          while (started.load() < 4) {
          }
          ended.fetch_add(1);
        });
      while (started.load() < 4) yield();
      EXPECT_LT(ms(clock::now() - start), 5000 * slowdown) << "round " << round;
      while (ended.load() < 4) yield();
    }
  });
}

// With one processor the order is fixed: who yields runs again after everybody who was there before.
TEST(field, F03_yield_lets_the_others_run_first) {
  with_procs(1, [] {
    for (int round = 0; round < 1000; ++round) {
      std::atomic<bool> ran{false};   // a yield is no edge
      weft::go([&] { ran = true; });
      yield();
      ASSERT_TRUE(ran) << "round " << round;
    }
    std::string log(30, ' ');
    std::atomic<std::size_t> end{0};
    weft::wait_group all_done;
    for (char name : {'a', 'b', 'c'}) {
      all_done.add(1);
      weft::go([&, name] {
        for (int i = 0; i < 10; ++i) {
          log[end++] = name;
          yield();
        }
        all_done.done();
      });
    }
    all_done.wait();
    ASSERT_EQ(end, 30u);
    for (std::size_t i = 3; i < log.size(); ++i) EXPECT_EQ(log[i], log[i - 3]) << log;
  });
}

// A loop that yields must not hold up requests. 40 requests a second of 10 ms each: less than half a core.
TEST(field, F03_requests_beside_a_yield_loop) {
  with_procs(2, [] {
    std::atomic<bool> stop{false};
    weft::wait_group all_done;
    all_done.add(1);
    weft::go([&] {
      while (!stop.load(std::memory_order_relaxed)) yield();
      all_done.done();
    });
    constexpr int requests = 60;
    std::vector<double> took(requests);
    for (int i = 0; i < requests; ++i) {
      all_done.add(1);
      weft::go([&, i, arrived = clock::now()] {
        work_for(10ms);
        took[static_cast<std::size_t>(i)] = ms(clock::now() - arrived);
        all_done.done();
      });
      sleep_for(25ms);
    }
    stop = true;
    all_done.wait();
    EXPECT_LT(percentile(took, 0.9), 200 * slowdown);
    EXPECT_LT(largest(took), 2000 * slowdown);
  });
}

// A goroutine that polls has a slice like any other.
TEST(fairness, PollingAnEmptyChannelLetsOthersRun) {
  with_procs(1, [] {
    auto c = weft::make_chan<int>();
    auto full = weft::make_chan<int>(1);
    full.send(0);
    weft::go([c] { c.send(1); });
    while (!c.try_recv()) {}
    weft::go([full] { full.recv(); });
    while (!full.try_send(2)) {}
  });
}

// One processor is lost to a loop that never calls Weft, the other has a goroutine that always does: what
// waits in the first one's queue must get its turn in the second.
TEST(fairness, WhatWaitsBehindALoopIsFetched) {
  with_procs(2, [] {
    for (int round = 0; round < 10; ++round) {
      std::atomic<bool> stop{false};
      weft::wait_group all;
      all.add(2);
      weft::go([&] {
        while (!stop) {}
        all.done();
      });
      weft::go([&, c = weft::make_chan<int>(1)] {
        while (!stop) {
          (void)c.try_send(1);
          (void)c.try_recv();
        }
        all.done();
      });
      for (int i = 0; i < 5; ++i) yield();
      stop = true;
      all.wait();
    }
  });
}

// A chain of run_next hand-offs that goes from one thread to the next, each of which ends: sysmon sees no
// slice that is over, so the end of a thread has to be the end of one.
TEST(fairness, ThreadsThatEndDoNotKeepTheProcessor) {
  weft_test::with_procs(1, [] {
    std::atomic<bool> ran{false};
    weft::go([&] { ran = true; });
    int rounds = 0;
    for (; !ran && rounds < 100; ++rounds) weft::spawn({.locked = true}, [] {}).join();
    EXPECT_LE(rounds, 3);
  });
}

// A full local queue must spill, not wait for its own drainer.
TEST(field, F04) {
  with_procs(4, [] {
    const int starters = 10, each = scaled(10'000, 500);
    std::atomic<int> ran{0};
    weft::wait_group all_done;
    all_done.add(starters * each);
    const auto start = clock::now();
    for (int i = 0; i < starters; ++i)
      weft::go([&, each] {
        for (int k = 0; k < each; ++k)
          weft::go([&] {
            ran.fetch_add(1, std::memory_order_relaxed);
            all_done.done();
          });
      });
    all_done.wait();
    EXPECT_EQ(ran.load(), starters * each);
    EXPECT_LT(ms(clock::now() - start), 5000 * slowdown);
  });
}

namespace {

// Round trips of a pair on two unbuffered channels until `stop`.
struct pair_of_goroutines {
  weft::chan<int> ping = weft::make_chan<int>(), pong = weft::make_chan<int>();
  std::atomic<bool> stop{false};
  long trips = 0;

  void start() {
    weft::go([in = ping, out = pong] {
      while (auto v = in.recv()) out.send(*v);
      out.close();
    });
    weft::go([this, done = finished] {
      while (!stop.load(std::memory_order_relaxed)) {
        ping.send(1);
        pong.recv();
        ++trips;
      }
      ping.close();
      done.send(true);   // the last touch of *this was before
    });
  }
  weft::chan<bool> finished = weft::make_chan<bool>(1);
};

double trips_per_second(clock::duration length) {
  pair_of_goroutines pair;
  const auto start = clock::now();
  pair.start();
  sleep_for(length);
  pair.stop = true;
  pair.finished.recv();
  return static_cast<double>(pair.trips) / (ms(clock::now() - start) / 1e3);
}

}  // namespace

// A pair that always wakes each other through run-next shares its processor with ten others.
// Sound: 10 ms slices for the pair against 10 x 1 ms, some 45 turns a second for each; the fault: none.
TEST(field, F06) {
  with_procs(1, [] {
    const double solo = trips_per_second(500ms);
    constexpr int others = 10;
    std::vector<long> turns(others);
    std::atomic<bool> stop{false};
    weft::wait_group all_done;
    for (long& mine : turns) {
      all_done.add(1);
      weft::go([&] {
        for (; !stop.load(std::memory_order_relaxed); ++mine) {
          work_for(1ms);
          yield();
        }
        all_done.done();
      });
    }
    const meter m;
    const double shared = trips_per_second(2s);
    const double seconds = m.seconds();
    stop = true;
    all_done.wait();
    for (long mine : turns) EXPECT_GE(static_cast<double>(mine) / seconds, 10.0 / slowdown);
    EXPECT_GE(shared, solo * 0.15) << "alone " << solo << " round trips a second";
  });
}
