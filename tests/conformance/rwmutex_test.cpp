// rwmutex_test.cpp — Go's runtime-internal readers/writer lock serves threads; ours is shared_mutex, used
// here by plain threads only. Tests are named after Go's.
#include <gtest/gtest.h>

#include <atomic>
#include <latch>
#include <thread>
#include <vector>

#include "support/weft_test.hpp"
#include "weft/shared_mutex.hpp"

namespace {

using weft_test::scaled;

TEST(rwmutex, TestParallelRWMutexReaders) {
  weft_test::watchdog dog("TestParallelRWMutexReaders");
  for (int readers : {1, 3, 4}) {
    weft::shared_mutex m;
    std::latch all_inside(readers);
    std::vector<std::jthread> threads;
    for (int i = 0; i < readers; ++i)
      threads.emplace_back([&] {
        m.lock_shared();
        all_inside.arrive_and_wait();   // hangs unless they are in there together
        m.unlock_shared();
      });
  }
}

TEST(rwmutex, TestRWMutex) {
  weft_test::watchdog dog("TestRWMutex");
  constexpr int one_writer = 10000;
  for (int readers : {1, 3, 10}) {
    weft::shared_mutex m;
    std::atomic<int> activity{0};
    const int rounds = scaled(500, 50);
    auto write = [&] {
      for (int i = 0; i < rounds; ++i) {
        m.lock();
        EXPECT_EQ(activity += one_writer, one_writer);
        activity -= one_writer;
        m.unlock();
      }
    };
    auto read = [&] {
      for (int i = 0; i < rounds; ++i) {
        m.lock_shared();
        EXPECT_LT(++activity, one_writer);
        --activity;
        m.unlock_shared();
      }
    };
    std::vector<std::jthread> threads;
    for (int i = 0; i < 2; ++i) threads.emplace_back(write);
    for (int i = 0; i < readers; ++i) threads.emplace_back(read);
  }
}

}  // namespace
