// random_test.cpp — the generator's numbers are spread out, and a visit order sees each P once.
#include "base/random.hpp"

#include <gtest/gtest.h>

#include <set>
#include <utility>
#include <vector>

namespace {

using namespace weft::rt;

TEST(random_source, below_is_in_range_and_even) {
  random_source random(42);
  constexpr int cells = 10, draws = 100'000;
  int hits[cells] = {};
  for (int i = 0; i < draws; ++i) {
    std::uint32_t n = random.below(cells);
    ASSERT_LT(n, static_cast<std::uint32_t>(cells));
    ++hits[n];
  }
  for (int h : hits) {   // 95 is one standard deviation
    EXPECT_GT(h, draws / cells - 600);
    EXPECT_LT(h, draws / cells + 600);
  }
  EXPECT_EQ(random.below(1), 0u);
}

TEST(random_source, same_seed_same_numbers_other_seed_others) {
  random_source a(1), b(1), c(2);
  std::set<std::uint64_t> seen;
  for (int i = 0; i < 1000; ++i) {
    std::uint64_t n = a.next();
    EXPECT_EQ(n, b.next());
    EXPECT_NE(n, c.next());
    seen.insert(n);
  }
  EXPECT_EQ(seen.size(), 1000u);
}

void visits_each_once(std::uint32_t count, std::uint64_t seed) {
  std::vector<bool> seen(count);
  visit_order order(count, seed);
  for (std::uint32_t i = 0; i < count; ++i, order.next()) {
    ASSERT_FALSE(order.done());
    ASSERT_LT(order.position(), count);
    ASSERT_FALSE(seen[order.position()]) << count << " with stride " << order.stride();
    seen[order.position()] = true;
  }
  ASSERT_TRUE(order.done());
}

TEST(visit_order, TestStealOrder) {
  for (std::uint32_t count = 1; count <= 64; ++count) {
    std::uint32_t strides = coprimes.begin[count + 1] - coprimes.begin[count];
    EXPECT_GE(strides, count >= 3 ? 2u : 1u);
    std::set<std::pair<std::uint32_t, std::uint32_t>> pairs;
    for (std::uint32_t seed = 0; seed < count * strides; ++seed) {
      visits_each_once(count, seed);
      visit_order order(count, seed);
      EXPECT_TRUE(pairs.emplace(order.position(), order.stride()).second) << count << ' ' << seed;
    }
  }
}

TEST(visit_order, many_processors_and_any_seed) {
  random_source random(9);
  for (std::uint32_t count : {1u, 2u, 7u, 63u, 64u, 65u, 66u, 128u, 210u, 1024u, 2310u, 4095u, 4096u}) {
    std::set<std::uint32_t> strides;
    for (int i = 0; i < 50; ++i) {
      std::uint64_t seed = random.next();
      visits_each_once(count, seed);
      strides.insert(visit_order(count, seed).stride());
    }
    EXPECT_GE(strides.size(), count >= 3 ? 2u : 1u) << count;
  }
}

}  // namespace
