// before_main_test.cpp — goroutines of a static constructor. A program of its own: the runtime is set up
// before main, and tests that want to set it up themselves (stack) would come too late.
#include <gtest/gtest.h>

#include <atomic>

#include "weft/go.hpp"
#include "weft/runtime.hpp"
#include "weft/this_goroutine.hpp"

namespace {

std::atomic<int> ran_before_world{0};
const bool started_early = [] {   // they wait for the first world
  weft::go([] { ++ran_before_world; });
  return true;
}();

TEST(world, GoroutinesStartedBeforeRunWaitForIt) {
  ASSERT_TRUE(started_early);
  weft::run([] {
    while (ran_before_world == 0) weft::this_goroutine::yield();
  });
  EXPECT_EQ(ran_before_world, 1);
}

}  // namespace
