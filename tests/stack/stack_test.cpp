// Stacks: shape, guards, recycling, many of them, other sizes, and the caches of the Ps.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <thread>
#include <vector>

#include "stack/stack_slab.hpp"
#include "stack/helpers.hpp"

using namespace weft_test;

namespace {

constexpr std::size_t many = rt::sanitizer::address || rt::sanitizer::thread ? 2'000 : 40'000;

TEST(Stack, HasTheShapeThatWasPromised) {
  rt::stack s = rt::stack_allocate(0);
  ASSERT_TRUE(s);
  EXPECT_EQ(rt::stack_default_size(), 260u * 1024);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(s.top) % 64, 0u);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(s.bottom) % 4096, 0u);
  EXPECT_GE(s.size(), 256u * 1024 - 64 * 1024 - 2 * 1024);
  std::memset(s.bottom, 1, s.size());
  rt::stack_free(s);
}

TEST(Stack, TopsAreColouredAndTwoKiBOfTheFirstPageAreLeft) {
  std::vector<rt::stack> stacks;
  std::set<std::uintptr_t> offsets;
  for (int i = 0; i < 64; ++i) {
    stacks.push_back(rt::stack_allocate(0));
    std::uintptr_t below = (4096 - reinterpret_cast<std::uintptr_t>(stacks.back().top) % 4096) % 4096;
    EXPECT_LE(below, 2048u);
    offsets.insert(below);
  }
  EXPECT_EQ(offsets.size(), 32u);
  for (auto& s : stacks) rt::stack_free(s);
}

TEST(Stack, TopsAreSpreadOverTheSetsOfTheTlb) {
  constexpr std::size_t sets = 64, in_a_slab = 252;
  for (std::size_t size : {std::size_t{0}, std::size_t{1} << 20}) {
    std::vector<rt::stack> stacks;
    std::vector<int> used(sets);
    for (std::size_t i = 0; i < in_a_slab; ++i) {
      stacks.push_back(rt::stack_allocate(size));
      ++used[(reinterpret_cast<std::uintptr_t>(stacks.back().top) - 1) / 4096 % sets];
    }
    EXPECT_LE(*std::max_element(used.begin(), used.end()), 8) << size;
    for (auto& s : stacks) rt::stack_free(s);
  }
}

TEST(Stack, GuardRefusesWrites) {
  for (std::size_t size : {std::size_t{0}, std::size_t{1} << 20, std::size_t{8} << 20}) {
    rt::stack s = rt::stack_allocate(size);
    ASSERT_TRUE(s);
    EXPECT_EQ(fault_at(s.bottom), 0);
    EXPECT_EQ(fault_at(s.bottom - 1), EFAULT) << size;
    EXPECT_EQ(fault_at(s.bottom - 64 * 1024), EFAULT) << "the whole guard";
    rt::stack hit;
    EXPECT_TRUE(rt::stack_guard_hit(s.bottom - 1, hit));
    EXPECT_EQ(hit.bottom, s.bottom);
    EXPECT_EQ(hit.top, s.top);
    EXPECT_EQ(hit.number, s.number);
    EXPECT_FALSE(rt::stack_guard_hit(s.bottom, hit));
    EXPECT_FALSE(rt::stack_guard_hit(&hit, hit));
    rt::stack_free(s);
  }
}

TEST(Stack, LastFreedIsFirstTaken) {
  rt::stack a = rt::stack_allocate(0);
  touch_first_page(a);
  rt::stack_free(a);
  rt::stack b = rt::stack_allocate(0);
  EXPECT_EQ(a.bottom, b.bottom);
  EXPECT_EQ(fault_at(b.bottom - 1), EFAULT) << "the guard stays";
  rt::stack_free(b);
}

TEST(Stack, NoTwoOwners) {
  std::set<std::byte*> seen;
  std::vector<rt::stack> stacks;
  for (int i = 0; i < 1'000; ++i) {
    stacks.push_back(rt::stack_allocate(0));
    EXPECT_TRUE(seen.insert(stacks.back().bottom).second);
  }
  for (auto& s : stacks) rt::stack_free(s);
}

TEST(Stack, ManyStacksTakeFewMappings) {
  long before = mapping_count();
  std::size_t in_use = rt::stack_statistics().in_use;
  std::vector<rt::stack> stacks;
  for (std::size_t i = 0; i < many; ++i) {
    stacks.push_back(rt::stack_allocate(0));
    ASSERT_TRUE(stacks.back()) << i;
    if (i % 64 == 0) touch_first_page(stacks.back());
  }
  EXPECT_EQ(rt::stack_statistics().in_use, in_use + many);
  EXPECT_LT(mapping_count() - before, 1'000);
  EXPECT_EQ(fault_at(stacks.back().bottom - 1), EFAULT);
  for (auto& s : stacks) rt::stack_free(s);
  EXPECT_EQ(rt::stack_statistics().in_use, in_use);
}

TEST(Stack, AnySizeIsServedAndRecycled) {
  for (std::size_t size : {1u, 100'000u, 200'000u, 300'000u, 1'000'000u, 8u << 20, 100u << 20}) {
    rt::stack s = rt::stack_allocate(size);
    ASSERT_TRUE(s) << size;
    EXPECT_GE(s.size(), size);
    touch_first_page(s);
    *reinterpret_cast<volatile char*>(s.bottom) = 1;
    rt::stack_free(s);
    rt::stack again = rt::stack_allocate(size);
    EXPECT_EQ(again.bottom, s.bottom) << size;
    rt::stack_free(again);
  }
}

TEST(Stack, ImpossibleSizesAreRefused) {
  EXPECT_FALSE(rt::stack_allocate(std::size_t{1} << 62));
  EXPECT_FALSE(rt::stack_allocate(SIZE_MAX));
}

TEST(StackCache, TakesAndGivesWithoutLosingAny) {
  std::size_t before = rt::stack_statistics().in_use;
  {
    rt::stack_cache cache;
    std::vector<rt::stack> out;
    std::set<std::byte*> distinct;
    for (std::size_t i = 0; i < 3 * rt::stack_cache::capacity; ++i) out.push_back(cache.take());
    for (auto& s : out) EXPECT_TRUE(s && distinct.insert(s.bottom).second);
    for (auto& s : out) cache.give(s);
    EXPECT_LE(cache.size(), rt::stack_cache::capacity);
    EXPECT_GE(cache.size(), rt::stack_cache::capacity / 2);
    rt::stack last = cache.take();
    EXPECT_EQ(last.bottom, out.back().bottom) << "last in, first out";
    cache.give(last);
    cache.give(rt::stack_allocate(1 << 20));   // not of its class: passed on
    cache.drain();
    EXPECT_EQ(cache.size(), 0u);
  }
  EXPECT_EQ(rt::stack_statistics().in_use, before);
}

TEST(StackCache, ThreadsDoNotDisturbEachOther) {
  std::size_t before = rt::stack_statistics().in_use;
  auto churn = [] {
    rt::stack_cache cache;
    std::vector<rt::stack> mine;
    unsigned random = 1;
    for (int i = 0; i < 20'000; ++i) {
      random = random * 1664525 + 1013904223;
      if (mine.size() < 200 && (mine.empty() || random >> 31)) {
        mine.push_back(i % 16 ? cache.take() : rt::stack_allocate(0));
        rt::sanitizer::hb_acquire(mine.back().bottom);   // as a switch to it does
        auto* mark = reinterpret_cast<std::uintptr_t*>(mine.back().top) - 1;
        *mark = reinterpret_cast<std::uintptr_t>(&cache);
      } else {
        auto* mark = reinterpret_cast<std::uintptr_t*>(mine.back().top) - 1;
        ASSERT_EQ(*mark, reinterpret_cast<std::uintptr_t>(&cache)) << "somebody else wrote into our stack";
        rt::sanitizer::hb_release(mine.back().bottom);
        cache.give(mine.back());
        mine.pop_back();
      }
    }
    for (auto& s : mine) {
      rt::sanitizer::hb_release(s.bottom);
      cache.give(s);
    }
    cache.drain();
  };
  std::thread other(churn), scavenger([] {
    for (int i = 0; i < 200; ++i) rt::stack_scavenge(100'000);
  });
  churn();
  other.join();
  scavenger.join();
  EXPECT_EQ(rt::stack_statistics().in_use, before);
}

TEST(StackSet, LowestHighestAndMembership) {
  rt::stack_set set;
  for (unsigned i : {200u, 3u, 64u, 255u, 63u}) set.add(i);
  EXPECT_EQ(set.lowest(), 3u);
  EXPECT_EQ(set.highest(), 255u);
  set.remove(255);
  set.remove(3);
  EXPECT_EQ(set.highest(), 200u);
  EXPECT_EQ(set.lowest(), 63u);
  EXPECT_TRUE(set.has(64));
  EXPECT_FALSE(set.has(65));
}

}  // namespace
