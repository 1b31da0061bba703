// raw_lock_test.cpp — mutual exclusion, no lost wake-up, and the order of locks.
#include "base/raw_lock.hpp"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

#include "base/check.hpp"
#include "os/linux/pause.hpp"
#include "os/os.hpp"

namespace {

using namespace weft::rt;

constexpr lock_rank rank = lock_rank::leaf;

// Each of 8 threads adds under the lock; now and then a holder goes away for a while, so that others fall
// asleep.
void contend(int rounds) {
  raw_lock lock;
  atomic<long> sum{0};   // atomic only for TSan, which does not see into the runtime
  std::vector<std::thread> threads;
  for (int id = 0; id < 8; ++id)
    threads.emplace_back([&, id] {
      for (int i = 0; i < rounds; ++i) {
        lock.lock(rank);
        long before = sum.load(relaxed);
        if (i % 64 == id) os::yield_thread();
        if (i % 512 == id) os::sleep_ns(20'000);
        sum.store(before + 1, relaxed);
        lock.unlock(rank);
      }
    });
  for (auto& t : threads) t.join();
  EXPECT_EQ(sum.load(), 8L * rounds);
  EXPECT_FALSE(lock.is_held());
}

TEST(raw_lock, eight_threads) {
  barrier_init();
  contend(10'000);
}

TEST(raw_lock, eight_threads_with_real_fences) {
  bool before = asymmetric_barriers.load();
  asymmetric_barriers.store(false);
  contend(5'000);
  asymmetric_barriers.store(before);
}

// The last unlock of all: nobody comes later to repair a lost wake-up.
TEST(raw_lock, the_only_sleeper_is_woken) {
  for (int i = 0; i < 2000; ++i) {
    raw_lock lock;
    atomic<int> arrived{0};
    lock.lock(rank);
    std::thread other([&] {
      arrived.store(1);
      lock.lock(rank);
      lock.unlock(rank);
    });
    while (arrived.load() == 0) std::this_thread::yield();
    os::cpu_pause(i * 7 % 500);   // around the moment it falls asleep
    lock.unlock(rank);
    other.join();
  }
}

TEST(raw_lock, try_lock) {
  raw_lock lock;
  EXPECT_TRUE(lock.try_lock());
  EXPECT_TRUE(lock.is_held());
  EXPECT_FALSE(lock.try_lock());
  lock.unlock(rank);
  ranked_lock<lock_rank::timers> ranked;
  {
    locked guard(ranked);
    EXPECT_TRUE(ranked.is_held());
  }
  EXPECT_TRUE(ranked.try_lock());
  ranked.unlock();
}

// ---- the order ----

TEST(lock_rank, upwards_is_fine) {
  held_locks mine;
  int a = 0, b = 0, c = 0;
  check_acquired(mine, lock_rank::channel, &a);
  check_acquired(mine, lock_rank::timers, &b);
  check_acquired(mine, lock_rank::leaf, &c);
  check_released(mine, lock_rank::timers, &b);   // in any order
  check_released(mine, lock_rank::leaf, &c);
  check_acquired(mine, lock_rank::wait_list, &b);
  EXPECT_EQ(mine.count, 2);
  check_released(mine, lock_rank::wait_list, &b);
  check_released(mine, lock_rank::channel, &a);
  EXPECT_EQ(mine.count, 0);
}

TEST(lock_rank, a_select_takes_channels_by_address) {
  held_locks mine;
  int channels[100] = {};
  for (int& c : channels) check_acquired(mine, lock_rank::channel, &c);
  for (int& c : channels) check_released(mine, lock_rank::channel, &c);
  EXPECT_EQ(mine.count, 0);
}

TEST(lock_rank_death, downwards_is_fatal) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  held_locks mine;
  int two[2] = {};
  check_acquired(mine, lock_rank::scheduler, &two[0]);
  EXPECT_EXIT(check_acquired(mine, lock_rank::channel, &two[1]), testing::ExitedWithCode(2),
              "fatal error: lock order: taking channel while holding scheduler");
  EXPECT_EXIT(check_acquired(mine, lock_rank::scheduler, &two[1]), testing::ExitedWithCode(2), "lock order");
  held_locks select;
  check_acquired(select, lock_rank::channel, &two[1]);
  EXPECT_EXIT(check_acquired(select, lock_rank::channel, &two[0]), testing::ExitedWithCode(2), "lock order");
  held_locks none;
  check_released(none, lock_rank::leaf, &two[0]);   // from a try_lock: not followed
  EXPECT_EQ(none.count, 0);
}

}  // namespace
