// semaphore_test.cpp — Go's x/sync/semaphore.Weighted is counting_semaphore with acquire(n); tests are named
// after Go's.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <stdexcept>
#include <stop_token>
#include <vector>

#include "support/weft_test.hpp"
#include "weft/chan.hpp"
#include "weft/semaphore.hpp"
#include "weft/wait_group.hpp"

namespace {

using namespace std::chrono_literals;
using weft_test::for_each_procs;
using weft_test::scaled;

TEST(semaphore, TestWeighted) {
  for_each_procs([] {
    constexpr int n = 8;
    weft::counting_semaphore<n> s(n);
    std::atomic<int> held{0};
    weft::wait_group all;
    for (int weight = 1; weight <= n; ++weight)
      all.go([&, weight] {
        for (int i = 0; i < scaled(200, 10); ++i) {
          s.acquire(weight);
          EXPECT_LE(held += weight, n);
          if (i % 4 == 0) weft::this_goroutine::yield();
          held -= weight;
          s.release(weight);
        }
      });
    all.wait();
    EXPECT_TRUE(s.try_acquire(n));
  });
}

TEST(semaphore, TestWeightedPanic) {
  weft::counting_semaphore<1> s(1);
  try {
    s.release(1);
    ADD_FAILURE() << "should throw";
  } catch (const std::logic_error& e) {
    EXPECT_STREQ(e.what(), "semaphore: released more than held");
  }
}

TEST(semaphore, TestWeightedTryAcquire) {
  weft::counting_semaphore<2> s(2);
  std::vector<bool> got;
  s.acquire(1);
  got.push_back(s.try_acquire(1));
  got.push_back(s.try_acquire(1));
  s.release(2);
  got.push_back(s.try_acquire(1));
  s.acquire(1);
  got.push_back(s.try_acquire(1));
  EXPECT_EQ(got, (std::vector<bool>{true, false, true, false}));
}

TEST(semaphore, TestWeightedAcquire) {
  for_each_procs([] {
    weft::counting_semaphore<2> s(2);
    std::vector<bool> got;
    s.acquire(1);
    got.push_back(s.try_acquire_for(10ms));
    got.push_back(s.try_acquire_for(10ms));
    s.release(2);
    got.push_back(s.try_acquire_for(10ms));
    s.acquire(1);
    got.push_back(s.try_acquire_for(10ms));
    EXPECT_EQ(got, (std::vector<bool>{true, false, true, false}));
  });
}

TEST(semaphore, TestWeightedDoesntBlockIfTooBig) {
  for_each_procs([] {
    constexpr int n = 2;
    weft::counting_semaphore<n> s(n);
    std::stop_source stop;
    weft::wait_group too_big, others;
    too_big.go([&] { EXPECT_FALSE(s.acquire(n + 1, stop.get_token())); });
    weft::this_goroutine::yield();
    for (int i = 0; i < n * 3; ++i)
      others.go([&] {
        s.acquire(1);
        weft::this_goroutine::sleep_for(1ms);
        s.release(1);
      });
    EXPECT_TRUE(others.wait_for(30s)) << "held up by one that wants too much";
    stop.request_stop();
    too_big.wait();
    others.wait();
  });
}

TEST(semaphore, TestLargeAcquireDoesntStarve) {
  for_each_procs([] {
    constexpr int n = 4;
    weft::counting_semaphore<n> s(n);
    std::atomic<bool> running{true};
    weft::wait_group small;
    for (int i = 0; i < n; ++i) {
      s.acquire(1);
      small.go([&] {
        while (running) {
          weft::this_goroutine::sleep_for(100us);
          s.release(1);
          s.acquire(1);
        }
        s.release(1);
      });
    }
    s.acquire(n);   // the watchdog would tell
    running = false;
    s.release(n);
    small.wait();
  });
}

// Until somebody stands in line.
template <class S>
void wait_until_blocked(S& s) {
  while (s.try_acquire(1)) {
    s.release(1);
    weft::this_goroutine::yield();
  }
}

TEST(semaphore, TestAllocCancelDoesntStarve) {
  for_each_procs([] {
    weft::counting_semaphore<10> s(10);
    s.acquire(1);   // so that acquire(10) waits
    std::stop_source stop;
    weft::wait_group all;
    all.go([&] { EXPECT_FALSE(s.acquire(10, stop.get_token())); });
    wait_until_blocked(s);
    all.go([&] { stop.request_stop(); });
    s.acquire(1);   // behind it in the line: goes on when it gives up
    s.release(1);
    all.wait();
  });
}

TEST(semaphore, TestWeightedAcquireCanceled) {
  for_each_procs([] {
    for (int round = 0; round < scaled(100, 10); ++round) {
      weft::counting_semaphore<2> s(2);
      std::stop_source stop;
      s.acquire(1);
      weft::wait_group all;
      all.go([&] {
        wait_until_blocked(s);
        stop.request_stop();
        s.release(1);
      });
      // Stopped before there were enough: it must not succeed.
      EXPECT_FALSE(s.acquire(2, stop.get_token()));
      all.wait();
      EXPECT_TRUE(s.try_acquire(2));
    }
  });
}

}  // namespace
