// claim_test.cpp — the lease under attack: a claimer and an owner never have the P at the same time.
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "sched/idle.hpp"
#include "sched/sched.hpp"
#include "weft/runtime.hpp"
#include "weft/this_goroutine.hpp"

using namespace weft::rt;

TEST(idle_word, CountsAreIndependent) {
  idle_word w;
  w.add_idle_processor();
  EXPECT_TRUE(w.look().needs_waker());
  EXPECT_TRUE(w.start_first_spinner());
  EXPECT_FALSE(w.start_first_spinner());
  EXPECT_EQ(w.look().spinning(), 1u);
  EXPECT_EQ(w.look().idle_processors(), 1u);
  w.remove_spinning();
  w.remove_idle_processor();
  EXPECT_FALSE(w.look().needs_waker());
  EXPECT_FALSE(w.start_first_spinner());
}

TEST(lease_word, KeepsProcessorAndCountsChanges) {
  lease_word w;
  w.hold(4095);
  const lease_word::value held = w.look();
  EXPECT_EQ(held.state(), lease_state::held);
  EXPECT_EQ(held.processor(), 4095u);
  EXPECT_TRUE(w.is_mine());
  const lease_word::value claimed = held.next(lease_state::claimed);
  ASSERT_TRUE(w.change(held, claimed));
  EXPECT_FALSE(w.is_mine());
  EXPECT_EQ(claimed.processor(), 4095u);
  EXPECT_FALSE(w.change(held, claimed)) << "an old value must not match";
}

TEST(wait_word, ExactlyOneClaimerWins) {
  for (int round = 0; round < 2000; ++round) {
    wait_word w;
    w.begin();
    std::atomic<int> wins{0};
    std::thread a([&] { wins += w.claim(1) != wait_word::claimed::lost; });
    wins += w.claim(2) != wait_word::claimed::lost;
    a.join();
    ASSERT_EQ(wins.load(), 1);
  }
}

TEST(wait_word, EitherTheClaimerOrTheCommitReadies) {
  for (int round = 0; round < 2000; ++round) {
    wait_word w;
    w.begin();
    std::atomic<int> readies{0};
    std::thread claimer([&] { readies += w.claim(1) == wait_word::claimed::parked; });
    readies += !w.commit_parked();
    claimer.join();
    ASSERT_EQ(readies.load(), 1);
  }
}

// A goroutine crosses the gate millions of times while the world is stopped again and again: whoever has the
// P adds to a plain counter, so a P with two owners loses counts.
TEST(claim, OwnerAndClaimerExclude) {
  weft::run({.maxprocs = 2}, [] {
    static long plain = 0;
    static std::atomic<bool> inside_now{false}, wrong{false};
    std::atomic<bool> stop{false};
    std::atomic<bool> ended{false};
    weft::go([&] {
      while (!stop) {
        inside in;
        if (in->pp == nullptr) wrong = true;
        inside_now.store(true, std::memory_order_relaxed);
        plain = plain + 1;
        inside_now.store(false, std::memory_order_relaxed);
      }
      ended = true;
    });
    for (int i = 0; i < 300; ++i)
      weft::stop_the_world([](void*) { if (inside_now.load()) wrong = true; }, nullptr);
    stop = true;
    while (!ended) weft::this_goroutine::yield();
    EXPECT_FALSE(wrong);
    EXPECT_GT(plain, 0);
  });
}
