// world_test.cpp — run() again and again, with goroutines left in every kind of wait on what outlives them.
#include <gtest/gtest.h>

#include <atomic>
#include <deque>
#include <stdexcept>
#include <thread>

#include "weft/chan.hpp"
#include "weft/mutex.hpp"
#include "weft/select.hpp"
#include "weft/wait_group.hpp"
#include "weft_test.hpp"

using namespace std::chrono_literals;

namespace {

weft::chan<int> global_channel = weft::make_chan<int>();
std::deque<weft::mutex> global_mutexes;   // one a round: a goroutine of a finished world may hold it for ever

}  // namespace

TEST(world, ResultsAndNesting) {
  EXPECT_EQ(weft::run([] { return 42; }), 42);
  weft::run([] { EXPECT_THROW(weft::run([] {}), std::logic_error); });
  weft::run([] {
    std::thread other([] { EXPECT_THROW(weft::run([] {}), std::logic_error); });
    other.join();
  });
}

TEST(world, LeftoversNeverRunAgain) {
  static std::atomic<int> ran_late{0};
  for (int round = 0; round < weft_test::scaled(50, 5); ++round)
    weft_test::for_each_procs([] {
      std::atomic<int> waiting{0};
      weft::mutex& global_mutex = global_mutexes.emplace_back();
      global_mutex.lock();
      weft::go([&] { ++waiting; global_channel.recv(); ++ran_late; });
      weft::go([&] { ++waiting; global_mutex.lock(); ++ran_late; });
      weft::go([&] { ++waiting; weft::this_goroutine::sleep_for(20ms); ++ran_late; });
      weft::go([&] {
        ++waiting;
        weft::select(weft::on_recv(global_channel, weft::nothing), weft::on_timeout(10ms, weft::nothing));
        ++ran_late;
      });
      while (waiting < 4) weft::this_goroutine::yield();
      global_mutex.unlock();
      if (global_mutex.try_lock()) global_mutex.unlock();
    });
  // `ran_late` may have moved inside the worlds (the mutex was free, a timeout came); after them it may not.
  const int after = ran_late;
  std::this_thread::sleep_for(50ms);
  EXPECT_EQ(ran_late, after);
  // The channel still works: the dead waiters in it are skipped.
  weft::run([] {
    weft::go([] { global_channel.send(7); });
    EXPECT_EQ(global_channel.recv(), 7);
  });
}

TEST(world, EndsWhileItIsBeingStopped) {
  weft_test::watchdog dog("EndsWhileItIsBeingStopped");
  for (int round = 0; round < weft_test::scaled(500, 50); ++round)
    weft::run(weft::options{.maxprocs = 4}, [&] {
      for (int k = 0; k < 3; ++k) weft::go([k] { weft::set_maxprocs(2 + k); });
      for (int k = 0; k < round % 5; ++k) weft::this_goroutine::yield();
    });
}

TEST(world, GoroutinesInUserCodeStopAtTheirNextCall) {
  static std::atomic<bool> spin{true};
  static std::atomic<int> calls_after{0};
  spin = true;
  weft_test::with_procs(2, [] {
    std::atomic<bool> there{false};
    weft::go([&there] {
      there = true;
      while (spin) sched_yield();
      weft::this_goroutine::yield();   // the world has ended meanwhile: never returns
      ++calls_after;
    });
    while (!there) weft::this_goroutine::yield();
  });
  spin = false;
  std::this_thread::sleep_for(20ms);
  EXPECT_EQ(calls_after, 0);
}

TEST(world, MaxprocsChangesWhileGoroutinesRun) {
  weft_test::with_procs(2, [] {
    weft::wait_group all;
    std::atomic<bool> stop{false};
    for (int i = 0; i < 8; ++i)
      all.go([&] {
        auto c = weft::make_chan<int>(1);
        while (!stop) {
          c.send(1);
          c.recv();
          weft::this_goroutine::yield();
        }
      });
    for (int i = 0; i < weft_test::scaled(200, 20); ++i) {
      const int n = 1 + i % 7;
      weft::set_maxprocs(n);
      EXPECT_EQ(weft::maxprocs(), n);
    }
    stop = true;
    all.wait();
  });
}
