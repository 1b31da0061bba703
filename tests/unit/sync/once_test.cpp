// once_test.cpp — failures with others waiting, and what a once_value returns.
#include "weft/once.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <stdexcept>
#include <string>

#include "support/weft_test.hpp"
#include "weft/wait_group.hpp"

namespace {

using weft_test::for_each_procs;

TEST(once, AfterAFailureAWaiterTriesAgain) {
  for_each_procs([] {
    weft::once_flag flag;
    int calls = 0;
    std::atomic<int> failed{0};
    weft::wait_group all;
    for (int i = 0; i < 6; ++i)
      all.go([&] {
        try {
          weft::call_once(flag, [&](int failures) {
            ++calls;
            weft::this_goroutine::yield();   // the others wait meanwhile
            if (calls <= failures) throw std::runtime_error("not yet");
          }, 3);
        } catch (const std::runtime_error&) {
          ++failed;
        }
      });
    all.wait();
    EXPECT_EQ(failed, 3);
    EXPECT_EQ(calls, 4);
  });
}

TEST(once, AnExitIsAFailure) {
  for_each_procs([] {
    weft::once_flag flag;
    int calls = 0;
    for (int i = 0; i < 2; ++i) {
      weft::wait_group one;
      one.go([&] {
        weft::call_once(flag, [&] {
          if (++calls == 1) weft::this_goroutine::exit();
        });
      });
      one.wait();
    }
    EXPECT_EQ(calls, 2);
  });
}

TEST(once, ValuesMayBeMoveOnlyAndLiveWithTheLastCopy) {
  auto make = weft::once_value([] { return std::make_unique<std::string>("made"); });
  const std::unique_ptr<std::string>& first = make();
  EXPECT_EQ(*first, "made");
  auto copy = make;
  EXPECT_EQ(&copy(), &first);
}

TEST(once, OthersWaitForTheValue) {
  for_each_procs([] {
    int calls = 0;
    auto value = weft::once_value([&] {
      weft::this_goroutine::yield();
      return ++calls;
    });
    weft::wait_group all;
    for (int i = 0; i < 5; ++i) all.go([value] { EXPECT_EQ(value(), 1); });
    all.wait();
  });
}

}  // namespace
