// wait_group_test.cpp — handles, limits, misuse, go(), and destruction.
#include "weft/wait_group.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <memory>
#include <stdexcept>
#include <stop_token>

#include "support/weft_test.hpp"

namespace {

using namespace std::chrono_literals;
using weft_test::for_each_procs;
using weft_test::scaled;

TEST(wait_group, CopiesShare) {
  for_each_procs([] {
    weft::wait_group group, other;
    other = group;
    const weft::wait_group copy = other;
    group.add(2);
    weft::go([copy] { copy.done(); });
    copy.done();
    other.wait();
  });
}

TEST(wait_group, LimitsEndTheWait) {
  for_each_procs([] {
    weft::wait_group group, all;
    group.add(1);
    EXPECT_FALSE(group.wait_for(1ms));
    EXPECT_FALSE(group.wait_until(std::chrono::steady_clock::now()));
    std::stop_source stop;
    all.go([&] { EXPECT_FALSE(group.wait(stop.get_token())); });
    weft::this_goroutine::sleep_for(1ms);
    stop.request_stop();
    all.wait();
    group.done();
    EXPECT_TRUE(group.wait_for(0ms));
  });
}

TEST(wait_group, ReuseBeforeAWaitHasReturnedIsTold) {
  weft_test::with_procs(1, [] {   // one processor: the waiter is woken but has not run yet
    weft::wait_group group, all;
    bool told = false;
    group.add(1);
    all.go([&] {
      try {
        group.wait();
      } catch (const std::logic_error& e) {
        told = true;
        EXPECT_STREQ(e.what(), "sync: WaitGroup is reused before previous Wait has returned");
      }
    });
    weft::this_goroutine::yield();
    group.done();
    group.add(1);
    all.wait();
    EXPECT_TRUE(told);
    group.done();
  });
}

TEST(wait_group, GoCountsAnExit) {
  for_each_procs([] {
    weft::wait_group group;
    bool unwound = false;
    group.go([&] {
      struct guard {
        bool& flag;
        ~guard() { flag = true; }
      } g{unwound};
      weft::this_goroutine::exit();
    });
    group.wait();
    EXPECT_TRUE(unwound);
  });
}

TEST(wait_group, GoThatFailsToStartCountsNothing) {
  weft::wait_group group;
  EXPECT_ANY_THROW(group.go(std::function<void()>()));
  struct refuses {
    refuses() = default;
    refuses(const refuses&) { throw std::runtime_error("no copy"); }
    void operator()() {}
  } f;
  EXPECT_THROW(group.go(f), std::runtime_error);
  group.wait();
}

TEST(wait_group, MayBeDestroyedByTheWaiter) {   // captured by reference, as in Go
  for_each_procs([] {
    for (int round = 0; round < scaled(1000, 100); ++round) {
      auto group = std::make_unique<weft::wait_group>();
      weft::wait_group ended;
      ended.add(1);
      group->add(1);
      weft::go([raw = group.get(), ended] {
        raw->done();
        ended.done();
      });
      if (round % 2) weft::this_goroutine::yield();
      if (round % 3)
        group->wait();
      // Leaves the mark of a waiter behind.
      else if (!group->wait_for(std::chrono::microseconds(round % 20)))
        while (!group->wait_for(0s)) weft::this_goroutine::yield();
      group.reset();
      ended.wait();
    }
  });
}

}  // namespace
