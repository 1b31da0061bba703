// barrier_test.cpp — phases, tokens, the completion function, dropping out, and destruction.
#include "weft/barrier.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <memory>

#include "support/weft_test.hpp"
#include "weft/wait_group.hpp"

namespace {

using weft_test::for_each_procs;
using weft_test::scaled;

TEST(barrier, NobodyGoesOnBeforeAllHaveArrived) {
  for_each_procs([] {
    constexpr int n = 5;
    const int phases = scaled(200, 20);
    int completions = 0;
    std::atomic<int> arrived{0};
    weft::barrier meet(n, [&]() noexcept {
      ++completions;
      EXPECT_EQ(arrived, n * completions);
      weft::this_goroutine::yield();   // it may park
    });
    weft::wait_group all;
    for (int i = 0; i < n; ++i)
      all.go([&] {
        for (int phase = 1; phase <= phases; ++phase) {
          ++arrived;
          meet.arrive_and_wait();
          EXPECT_GE(completions, phase);
        }
      });
    all.wait();
    EXPECT_EQ(completions, phases);
  });
}

TEST(barrier, TokensWaitForTheirPhase) {
  for_each_procs([] {
    weft::barrier meet(3);
    auto token = meet.arrive();
    weft::wait_group all;
    all.go([&, t = std::move(token)]() mutable { meet.wait(std::move(t)); });
    weft::this_goroutine::yield();
    auto late = meet.arrive(2);
    meet.wait(std::move(late));   // complete: returns at once
    all.wait();
  });
}

TEST(barrier, DroppingOutMakesTheGroupSmaller) {
  for_each_procs([] {
    weft::barrier meet(2);
    weft::wait_group all;
    all.go([&] {
      meet.arrive_and_wait();
      meet.arrive_and_drop();
    });
    meet.arrive_and_wait();
    meet.arrive_and_wait();
    meet.arrive_and_wait();   // alone
    meet.arrive_and_wait();
    all.wait();
  });
}

TEST(barrier, MayBeDestroyedAfterTheLastWait) {
  for_each_procs([] {
    for (int round = 0; round < scaled(500, 50); ++round) {
      auto meet = std::make_unique<weft::barrier<>>(2);
      weft::wait_group all;
      all.go([raw = meet.get()] { static_cast<void>(raw->arrive()); });
      if (round % 2) weft::this_goroutine::yield();
      meet->arrive_and_wait();
      meet.reset();
      all.wait();
    }
  });
}

}  // namespace
