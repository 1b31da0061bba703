// latch_test.cpp — counting down, waiting with limits, and destruction.
#include "weft/latch.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <stop_token>

#include "support/weft_test.hpp"
#include "weft/wait_group.hpp"

namespace {

using namespace std::chrono_literals;
using weft_test::for_each_procs;
using weft_test::scaled;

TEST(latch, CountsDown) {
  weft::latch l(3);
  EXPECT_FALSE(l.try_wait());
  l.count_down(2);
  EXPECT_FALSE(l.try_wait());
  l.arrive_and_wait();
  EXPECT_TRUE(l.try_wait());
  l.wait();
  weft::latch none(0);
  none.wait();
}

TEST(latch, LetsEverybodyGo) {
  for_each_procs([] {
    weft::latch l(2);
    int written = 0;
    weft::wait_group all;
    for (int i = 0; i < 5; ++i)
      all.go([&] {
        l.wait();
        EXPECT_EQ(written, 1);
      });
    all.go([&] { l.arrive_and_wait(); });
    weft::this_goroutine::yield();
    written = 1;
    l.count_down();
    all.wait();
  });
}

TEST(latch, LimitsEndTheWait) {
  for_each_procs([] {
    weft::latch l(1);
    std::stop_source stop;
    EXPECT_FALSE(l.wait_for(1ms));
    EXPECT_FALSE(l.wait_until(std::chrono::steady_clock::now()));
    weft::wait_group all;
    all.go([&] { EXPECT_FALSE(l.wait(stop.get_token())); });
    weft::this_goroutine::sleep_for(1ms);
    stop.request_stop();
    all.wait();
    l.count_down();   // the list is empty again
    EXPECT_TRUE(l.wait_for(0ms));
    EXPECT_TRUE(l.wait(stop.get_token()));
  });
}

TEST(latch, MayBeDestroyedByTheWaiter) {
  for_each_procs([] {
    for (int round = 0; round < scaled(1000, 100); ++round) {
      auto l = std::make_unique<weft::latch>(1);
      weft::wait_group all;
      all.go([raw = l.get()] { raw->count_down(); });
      if (round % 2) weft::this_goroutine::yield();
      if (round % 3)
        l->wait();
      else if (!l->wait_for(std::chrono::microseconds(round % 20)))   // leaves the mark of a waiter behind
        while (!l->try_wait()) weft::this_goroutine::yield();
      l.reset();
      all.wait();
    }
  });
}

}  // namespace
