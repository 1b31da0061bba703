// note_test.cpp — a wake-up is never lost, kept when it comes first, and does not add up.
#include "base/note.hpp"

#include <gtest/gtest.h>

#include <thread>

namespace {

using namespace weft::rt;

constexpr std::int64_t ms = 1'000'000;

TEST(note, a_wake_that_comes_first_is_kept_once) {
  note n;
  n.wake();
  n.wake();
  EXPECT_TRUE(n.sleep());
  EXPECT_FALSE(n.sleep(os::nanotime() + ms));
  n.wake();
  n.clear();
  EXPECT_FALSE(n.sleep(os::nanotime()));
}

TEST(note, sleeps_until_the_deadline_and_not_less) {
  note n;
  std::int64_t until = os::nanotime() + 20 * ms;
  EXPECT_FALSE(n.sleep(until));
  EXPECT_GE(os::nanotime(), until);
  EXPECT_FALSE(n.sleep(0));
  EXPECT_FALSE(n.sleep(-5));
}

TEST(note, ping_pong) {
  constexpr int rounds = 20'000;
  note there, back;
  atomic<long> sum{0};   // handed to and fro by the notes; atomic only for TSan, which does not see into them
  std::thread other([&] {
    for (int i = 0; i < rounds; ++i) {
      ASSERT_TRUE(there.sleep());
      sum.store(sum.load(relaxed) + 1, relaxed);
      back.wake();
    }
  });
  for (int i = 0; i < rounds; ++i) {
    there.wake();
    ASSERT_TRUE(back.sleep(os::nanotime() + 60'000 * ms)) << "a wake-up was lost";
    ASSERT_EQ(sum.load(relaxed), i + 1);
  }
  other.join();
}

TEST(note, wakes_race_with_deadlines) {
  note n;
  atomic<bool> done{false};
  std::thread waker([&] {
    while (!done.load()) {
      n.wake();
      std::this_thread::yield();
    }
  });
  int woken = 0;
  for (int i = 0; i < 3000; ++i) woken += n.sleep(os::nanotime() + i % 50 * 1000);
  done.store(true);
  waker.join();
  EXPECT_GT(woken, 0);
}

}  // namespace
