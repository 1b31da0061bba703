// mutex_test.cpp — limits, lost wake-ups, hand-over, threads and goroutines together, and destruction.
#include "weft/mutex.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <mutex>
#include <stop_token>
#include <thread>
#include <vector>

#include "support/weft_test.hpp"
#include "weft/wait_group.hpp"

namespace {

using namespace std::chrono_literals;
using weft_test::for_each_procs;
using weft_test::scaled;

constinit weft::mutex global;   // no dynamic initialisation

TEST(mutex, IsSmallAndStatic) {
  static_assert(sizeof(weft::mutex) <= 32);
  std::scoped_lock lock(global);
  EXPECT_FALSE(global.try_lock());
}

TEST(mutex, DeadlinePasses) {
  for_each_procs([] {
    weft::mutex m;
    std::unique_lock<weft::mutex> held(m);
    weft::wait_group all;
    for (int i = 0; i < 4; ++i)
      all.go([&] {
        EXPECT_FALSE(m.try_lock_for(1ms));
        EXPECT_FALSE(m.try_lock_for(0ms));
        EXPECT_FALSE(m.try_lock_until(std::chrono::steady_clock::now() - 1s));
        EXPECT_FALSE(m.try_lock_until(std::chrono::system_clock::now() + 1ms));
      });
    all.wait();
    held.unlock();
    EXPECT_TRUE(m.try_lock_for(0ms));   // free: whatever the deadline
    m.unlock();
  });
}

TEST(mutex, StopEndsTheWait) {
  for_each_procs([] {
    weft::mutex m;
    std::stop_source stop;
    m.lock();
    weft::wait_group all;
    for (int i = 0; i < 4; ++i) all.go([&] { EXPECT_FALSE(m.lock(stop.get_token())); });
    weft::this_goroutine::sleep_for(1ms);
    stop.request_stop();
    all.wait();
    m.unlock();
    EXPECT_FALSE(m.lock(stop.get_token()));   // came before the call: wins over a free mutex
    EXPECT_TRUE(m.lock(std::stop_token()));
    m.unlock();
  });
}

// Those that give up race with unlock() for who wakes whom: a lost wake-up hangs, a doubled one breaks the
// counter.
TEST(mutex, GivingUpLosesNoWakeup) {
  for_each_procs([] {
    weft::mutex m;
    long counter = 0;
    std::atomic<long> locked{0};
    weft::wait_group all;
    for (int who = 0; who < 8; ++who)
      all.go([&, who] {
        for (int i = 0; i < scaled(300, 30); ++i) {
          std::stop_source stop;
          bool mine = true;
          switch ((who + i) % 4) {
            case 0: mine = m.try_lock_for(std::chrono::microseconds(i % 60)); break;
            case 1: {
              weft::wait_group stopper;
              stopper.go([&] { stop.request_stop(); });
              mine = m.lock(stop.get_token());
              if (mine) ++counter, ++locked, m.unlock();
              stopper.wait();
              continue;
            }
            default: m.lock();
          }
          if (!mine) continue;
          ++counter;
          ++locked;
          if (i % 8 == 0) weft::this_goroutine::yield();
          m.unlock();
        }
      });
    all.wait();
    EXPECT_EQ(counter, locked);
    EXPECT_TRUE(m.try_lock());
    m.unlock();
  });
}

// One processor, and no scheduling point while the deadline passes: unlock() wakes the timed waiter, not its
// timer. It finds the mutex locked again and gives up; then the wake-up that it had must go to the next one.
TEST(mutex, AWokenOneThatGivesUpPassesTheWakeupOn) {
  weft_test::with_procs(1, [] {
    weft::mutex m;
    weft::wait_group all;
    m.lock();
    all.go([&] {
      if (m.try_lock_for(2ms)) m.unlock();   // on a busy machine it may get it
    });
    weft::this_goroutine::yield();
    all.go([&] {
      m.lock();
      m.unlock();
    });
    weft::this_goroutine::yield();
    const auto late = std::chrono::steady_clock::now() + 3ms;
    while (std::chrono::steady_clock::now() < late) {}
    m.unlock();
    m.lock();
    weft::this_goroutine::yield();
    m.unlock();
    all.wait();
  });
}

TEST(mutex, IsHandedOverInOrderWhenWaitersStarve) {
  for_each_procs([] {
    weft::mutex m;
    m.lock();
    std::vector<int> order;
    weft::wait_group all;
    std::atomic<int> queued{0};
    for (int i = 0; i < 4; ++i) {
      all.go([&, i] {
        ++queued;
        m.lock();
        order.push_back(i);
        weft::this_goroutine::sleep_for(1500us);   // the next one starves meanwhile
        m.unlock();
      });
      while (queued != i + 1) weft::this_goroutine::yield();
      weft::this_goroutine::sleep_for(1ms);
    }
    m.unlock();
    all.wait();
    EXPECT_EQ(order.size(), 4u);
    EXPECT_EQ(order.front(), 0);
  });
}

TEST(mutex, ThreadsAndGoroutinesTogether) {
  for_each_procs([] {
    weft::mutex m;
    long counter = 0;
    const int rounds = scaled(2000, 100);
    auto add = [&] {
      for (int i = 0; i < rounds; ++i) {
        std::lock_guard lock(m);
        ++counter;
      }
    };
    std::vector<std::thread> threads;
    for (int i = 0; i < 2; ++i) threads.emplace_back(add);
    weft::wait_group all;
    for (int i = 0; i < 4; ++i) all.go(add);
    all.wait();
    while (true) {   // keep the processor working while the threads end
      {
        std::lock_guard lock(m);
        if (counter == 6L * rounds) break;
      }
      weft::this_goroutine::yield();
    }
    for (auto& t : threads) t.join();
  });
}

// The one that was let in destroys the mutex while the unlock() that let it in may still be under way.
TEST(mutex, MayBeDestroyedByTheNextHolder) {
  for_each_procs([] {
    for (int round = 0; round < scaled(2000, 200); ++round) {
      auto m = std::make_unique<weft::mutex>();
      weft::mutex* raw = m.get();
      raw->lock();
      weft::wait_group all;
      all.go([m = std::move(m)]() mutable {
        m->lock();
        m->unlock();
        m.reset();
      });
      if (round % 2) weft::this_goroutine::yield();
      raw->unlock();
      all.wait();
    }
  });
}

TEST(mutex, DestructionWithWaitersIsFatal) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_EXIT(weft::run([] {
                auto m = std::make_unique<weft::mutex>();
                m->lock();
                weft::go([&] { m->lock(); });
                weft::this_goroutine::sleep_for(10ms);
                m.reset();
              }),
              testing::ExitedWithCode(2), "fatal error: mutex destroyed while goroutine [0-9]+ waits in it");
}

TEST(mutex, WaitersOfAFinishedWorldAreSkipped) {
  weft::mutex m;
  m.lock();
  weft::run([&] {
    weft::go([&] { m.lock(); });
    weft::this_goroutine::sleep_for(5ms);
  });
  m.unlock();
  weft::run([&] {
    m.lock();
    m.unlock();
  });
}

}  // namespace
