// Pages of free stacks go back to the kernel, those of stacks in use and of the ones in demand do not.
#include <gtest/gtest.h>

#include <vector>

#include "os/os.hpp"
#include "stack/stack_slab.hpp"
#include "stack/helpers.hpp"

using namespace weft_test;

namespace {

constexpr std::size_t stacks = rt::sanitizer::address || rt::sanitizer::thread ? 1'000 : 20'000;

// Calls the scavenger until nothing more is found over two of its periods; returns the bytes it looked after.
constexpr std::int64_t period = 50'000'000;

std::size_t scavenge_all() {
  rt::stack_scavenge_period(period);
  std::size_t bytes = 0;
  std::int64_t quiet_since = rt::os::nanotime();
  while (rt::os::nanotime() - quiet_since < 3 * period) {
    if (std::size_t more = rt::stack_scavenge(5'000'000)) {
      bytes += more;
      quiet_since = rt::os::nanotime();
    } else {
      rt::os::sleep_ns(5'000'000);   // pacing of the helper thread, nothing waits for it
    }
  }
  return bytes;
}

TEST(Scavenge, RssComesBackAfterASpike) {
  scavenge_all();
  long before = status_kb("RssAnon:");
  std::vector<rt::stack> all;
  for (std::size_t i = 0; i < stacks; ++i) {
    all.push_back(rt::stack_allocate(0));
    touch_first_page(all.back());
  }
  long spike = status_kb("RssAnon:");
  EXPECT_GT(spike - before, static_cast<long>(stacks) * 3);
  rt::stack kept = all[stacks / 2];
  *reinterpret_cast<volatile int*>(kept.top - 128) = 4711;
  for (auto& s : all)
    if (s.bottom != kept.bottom) rt::stack_free(s);
  EXPECT_GE(scavenge_all(), (stacks - 1) * rt::stack_default_size());
  if (!rt::sanitizer::address && !rt::sanitizer::thread) {   // their shadow of the stacks stays
    EXPECT_LT(status_kb("RssAnon:") - before, (spike - before) / 4);
  }
  EXPECT_EQ(rt::stack_statistics().dirty, 0u);
  EXPECT_EQ(*reinterpret_cast<volatile int*>(kept.top - 128), 4711) << "a stack in use was given back";
  rt::stack_free(kept);

  rt::stack again = rt::stack_allocate(0);
  touch_first_page(again);
  EXPECT_EQ(fault_at(again.bottom - 1), EFAULT) << "the guard was given back too";
  rt::stack_free(again);
}

TEST(Scavenge, LeavesWhatIsInDemand) {
  scavenge_all();
  std::vector<rt::stack> working(100);
  for (auto& s : working) s = rt::stack_allocate(0);
  for (auto& s : working) rt::stack_free(s);
  // All 100 are taken and given again and again, over more than two periods: none of them is excess.
  std::size_t bytes = 0;
  for (std::int64_t end = rt::os::nanotime() + 5 * period; rt::os::nanotime() < end;) {
    for (auto& s : working) s = rt::stack_allocate(0);
    bytes += rt::stack_scavenge(1'000'000);
    for (auto& s : working) rt::stack_free(s);
    bytes += rt::stack_scavenge(1'000'000);
  }
  EXPECT_LE(bytes, 5 * rt::stack_default_size());
  scavenge_all();
}

TEST(Scavenge, LargeStacksAreUnmapped) {
  rt::stack s = rt::stack_allocate(8 << 20);
  std::size_t reserved = rt::stack_statistics().reserved;
  rt::stack_free(s);
  scavenge_all();
  EXPECT_LT(rt::stack_statistics().reserved, reserved);
  EXPECT_EQ(fault_at(s.top - 64), EFAULT);
}

TEST(Scavenge, KeepsToItsBudget) {
  std::vector<rt::stack> all;
  for (std::size_t i = 0; i < stacks; ++i) {
    all.push_back(rt::stack_allocate(0));
    touch_first_page(all.back());
  }
  for (auto& s : all) rt::stack_free(s);
  EXPECT_EQ(rt::stack_scavenge(0), 0u);
  scavenge_all();
}

}  // namespace
