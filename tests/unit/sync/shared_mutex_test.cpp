// shared_mutex_test.cpp — who goes first, limits, and destruction.
#include "weft/shared_mutex.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <stop_token>
#include <vector>

#include "support/weft_test.hpp"
#include "weft/wait_group.hpp"

namespace {

using namespace std::chrono_literals;
using weft_test::for_each_procs;
using weft_test::scaled;

void until(auto condition) {
  while (!condition()) weft::this_goroutine::yield();
}

TEST(shared_mutex, AWaitingWriterKeepsNewReadersOut) {
  for_each_procs([] {
    weft::shared_mutex m;
    std::vector<char> order;
    m.lock_shared();
    weft::wait_group all;
    all.go([&] {
      m.lock();
      order.push_back('w');
      m.unlock();
    });
    until([&] {   // the writer waits
      const bool free = m.try_lock_shared();
      if (free) m.unlock_shared();
      return !free;
    });
    all.go([&] {
      m.lock_shared();
      order.push_back('r');
      m.unlock_shared();
    });
    weft::this_goroutine::sleep_for(1ms);
    m.unlock_shared();
    all.wait();
    EXPECT_EQ(order, (std::vector<char>{'w', 'r'}));
  });
}

TEST(shared_mutex, AfterAWriterAllWaitingReadersGoBeforeTheNextWriter) {
  for_each_procs([] {
    weft::shared_mutex m;
    std::atomic<int> queued{0}, readers{0};
    m.lock();
    weft::wait_group all;
    all.go([&] {
      ++queued;
      m.lock();
      EXPECT_EQ(readers, 3);
      m.unlock();
    });
    for (int i = 0; i < 3; ++i)
      all.go([&] {
        ++queued;
        m.lock_shared();
        ++readers;
        weft::this_goroutine::yield();
        m.unlock_shared();
      });
    until([&] { return queued == 4; });
    weft::this_goroutine::sleep_for(5ms);   // until they wait; if not, the test shows less
    m.unlock();
    all.wait();
  });
}

TEST(shared_mutex, AWriterThatGivesUpLetsTheReadersIn) {
  for_each_procs([] {
    weft::shared_mutex m;
    m.lock_shared();
    std::stop_source stop;
    weft::wait_group writers, readers;
    writers.go([&] { EXPECT_FALSE(m.lock(stop.get_token())); });
    until([&] {
      const bool free = m.try_lock_shared();
      if (free) m.unlock_shared();
      return !free;
    });
    for (int i = 0; i < 3; ++i)
      readers.go([&] {
        m.lock_shared();   // behind the writer
        m.unlock_shared();
      });
    weft::this_goroutine::sleep_for(1ms);
    stop.request_stop();
    writers.wait();
    readers.wait();   // while we still hold it
    m.unlock_shared();
    EXPECT_TRUE(m.try_lock());
    m.unlock();
  });
}

TEST(shared_mutex, DeadlinesPass) {
  for_each_procs([] {
    weft::shared_mutex m;
    m.lock();
    EXPECT_FALSE(m.try_lock_for(1ms));
    EXPECT_FALSE(m.try_lock_shared_for(1ms));
    EXPECT_FALSE(m.try_lock_until(std::chrono::steady_clock::now()));
    EXPECT_FALSE(m.try_lock_shared_until(std::chrono::steady_clock::now()));
    m.unlock();
    m.lock_shared();
    EXPECT_FALSE(m.try_lock_for(1ms));
    EXPECT_TRUE(m.try_lock_shared_for(1ms));
    m.unlock_shared();
    m.unlock_shared();
    EXPECT_TRUE(m.try_lock_for(0ms));
    m.unlock();
  });
}

TEST(shared_mutex, GivingUpLosesNoWakeup) {
  for_each_procs([] {
    weft::shared_mutex m;
    std::atomic<int> inside{0};
    constexpr int one_writer = 1000;
    weft::wait_group all;
    for (int who = 0; who < 8; ++who)
      all.go([&, who] {
        for (int i = 0; i < scaled(300, 30); ++i) {
          const auto patience = std::chrono::microseconds(i % 50);
          const bool exclusive = (who + i) % 4 == 0, limited = i % 2 == 0;
          if (exclusive) {
            if (limited ? !m.try_lock_for(patience) : (m.lock(), false)) continue;
            EXPECT_EQ(inside += one_writer, one_writer);
            if (i % 5 == 0) weft::this_goroutine::yield();
            inside -= one_writer;
            m.unlock();
          } else {
            if (limited ? !m.try_lock_shared_for(patience) : (m.lock_shared(), false)) continue;
            EXPECT_LT(++inside, one_writer);
            if (i % 5 == 0) weft::this_goroutine::yield();
            --inside;
            m.unlock_shared();
          }
        }
      });
    all.wait();
    EXPECT_TRUE(m.try_lock());
    m.unlock();
  });
}

TEST(shared_mutex, MayBeDestroyedByTheNextHolder) {
  for_each_procs([] {
    for (int round = 0; round < scaled(1000, 100); ++round) {
      auto m = std::make_unique<weft::shared_mutex>();
      weft::shared_mutex* raw = m.get();
      round % 2 ? raw->lock() : raw->lock_shared();
      weft::wait_group all;
      all.go([m = std::move(m)]() mutable {
        m->lock();
        m->unlock();
        m.reset();
      });
      if (round % 3) weft::this_goroutine::yield();
      round % 2 ? raw->unlock() : raw->unlock_shared();
      all.wait();
    }
  });
}

}  // namespace
