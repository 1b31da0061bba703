// condition_variable_test.cpp — limits, and notifications that must not go to those who gave up.
#include "weft/condition_variable.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <mutex>
#include <stop_token>
#include <system_error>

#include "support/weft_test.hpp"
#include "weft/wait_group.hpp"

namespace {

using namespace std::chrono_literals;
using weft_test::for_each_procs;
using weft_test::scaled;
using lock_t = std::unique_lock<weft::mutex>;

TEST(condition_variable, DeadlinePassesWithTheMutexHeldAgain) {
  for_each_procs([] {
    weft::mutex m;
    weft::condition_variable c;
    lock_t lock(m);
    EXPECT_EQ(c.wait_for(lock, 1ms), std::cv_status::timeout);
    EXPECT_TRUE(lock.owns_lock());
    EXPECT_FALSE(m.try_lock());
    EXPECT_EQ(c.wait_until(lock, std::chrono::system_clock::now()), std::cv_status::timeout);
    EXPECT_FALSE(c.wait_for(lock, 1ms, [] { return false; }));
    EXPECT_TRUE(c.wait_for(lock, -1ms, [] { return true; }));
    c.notify_one();   // nobody is left in the line
  });
}

TEST(condition_variable, StopEndsTheWait) {
  for_each_procs([] {
    weft::mutex m;
    weft::condition_variable c;
    std::stop_source stop;
    weft::wait_group all;
    for (int i = 0; i < 3; ++i)
      all.go([&] {
        lock_t lock(m);
        EXPECT_FALSE(c.wait(lock, stop.get_token(), [] { return false; }));
        EXPECT_FALSE(c.wait_for(lock, stop.get_token(), 60s, [] { return false; }));   // stopped already
      });
    weft::this_goroutine::sleep_for(1ms);
    stop.request_stop();
    all.wait();
    lock_t lock(m);
    EXPECT_TRUE(c.wait(lock, stop.get_token(), [] { return true; }));
  });
}

// The first in the line gives up at about the time of the one notification: either it got it, or the second
// did.
TEST(condition_variable, ANotificationDoesNotGoToOneThatGaveUp) {
  for_each_procs([] {
    for (int round = 0; round < scaled(300, 30); ++round) {
      weft::mutex m;
      weft::condition_variable c;
      bool first_waits = false, second_waits = false, timed_out = false;
      weft::wait_group first, second;
      first.go([&] {
        lock_t lock(m);
        first_waits = true;
        timed_out = c.wait_for(lock, std::chrono::microseconds(round % 100)) == std::cv_status::timeout;
      });
      auto wait_until_set = [&](bool& flag) {
        for (lock_t lock(m); !flag; lock.lock()) {
          lock.unlock();
          weft::this_goroutine::yield();
        }
      };
      wait_until_set(first_waits);
      second.go([&] {
        lock_t lock(m);
        second_waits = true;
        c.wait(lock);
      });
      wait_until_set(second_waits);
      c.notify_one();
      first.wait();
      if (!timed_out) c.notify_one();   // the first one had the other
      second.wait();
    }
  });
}

TEST(condition_variable, PingPongLosesNothing) {
  for_each_procs([] {
    weft::mutex m;
    weft::condition_variable c;
    int turn = 0;
    weft::wait_group all;
    for (int who = 0; who < 2; ++who)
      all.go([&, who] {
        for (int i = 0; i < scaled(2000, 100); ++i) {
          lock_t lock(m);
          c.wait(lock, [&] { return turn == who; });
          turn = 1 - who;
          lock.unlock();
          c.notify_one();   // without the mutex: the other may just be on its way to park
        }
      });
    all.wait();
  });
}

TEST(condition_variable, NeedsALockThatIsHeld) {
  weft::mutex m;
  weft::condition_variable c;
  lock_t lock(m, std::defer_lock);
  EXPECT_THROW(c.wait(lock), std::system_error);
}

TEST(condition_variable, MayBeDestroyedWhenAllWereNotified) {
  for_each_procs([] {
    for (int round = 0; round < scaled(300, 30); ++round) {
      weft::mutex m;
      auto c = std::make_unique<weft::condition_variable>();
      int waiting = 0;
      weft::wait_group all;
      for (int i = 0; i < 3; ++i)
        all.go([&] {
          lock_t lock(m);
          ++waiting;
          c->wait(lock);
        });
      for (bool all_wait = false; !all_wait;) {
        weft::this_goroutine::yield();
        std::lock_guard lock(m);
        if ((all_wait = waiting == 3)) {
          c->notify_all();
          c.reset();   // before any of them has returned
        }
      }
      all.wait();
    }
  });
}

}  // namespace
