// Fibre handles come back; a stack left in a mess can be used again. Says little in an ordinary build.
#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "unit/context/coroutine.hpp"

using weft_test::coroutine;
namespace rt = weft::rt;

namespace {

[[gnu::noinline]] int call_depth(int n) {
  volatile char frame[200] = {};
  return n == 0 ? frame[0] : call_depth(n - 1) + 1;
}

TEST(Sanitizer, MoreFibresInTurnThanThereAreHandles) {
  const int turns = rt::sanitizer::thread ? 9'000 : 1'000;
  for (int i = 0; i < turns; ++i) {
    coroutine c([](coroutine& self) {
      EXPECT_EQ(call_depth(20), 20);
      self.yield();
    });
    c.resume();
    c.resume();
    ASSERT_TRUE(c.done());
  }
}

TEST(Sanitizer, AbandonedFibresAreGivenBack) {
  const int rounds = 20, at_once = 10;
  for (int r = 0; r < rounds; ++r) {
    std::vector<std::unique_ptr<coroutine>> parked;
    for (int i = 0; i < at_once; ++i) {
      parked.push_back(std::make_unique<coroutine>([](coroutine& self) { self.yield(); }));
      parked.back()->resume();
    }
  }
}

TEST(Sanitizer, EdgesAreAccepted) {
  int cell = 0;
  rt::sanitizer::hb_release(&cell);
  rt::sanitizer::hb_acquire(&cell);
}

}  // namespace
