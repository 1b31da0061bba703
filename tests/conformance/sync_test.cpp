// sync_test.cpp — what Go's sync package promises of Mutex, RWMutex and Cond; tests are named after Go's.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <shared_mutex>
#include <type_traits>
#include <vector>

#include "support/weft_test.hpp"
#include "weft/chan.hpp"
#include "weft/condition_variable.hpp"
#include "weft/latch.hpp"
#include "weft/mutex.hpp"
#include "weft/semaphore.hpp"
#include "weft/shared_mutex.hpp"
#include "weft/wait_group.hpp"

namespace {

using namespace std::chrono_literals;
using weft_test::for_each_procs;
using weft_test::scaled;
using lock_t = std::unique_lock<weft::mutex>;

TEST(sync, TestSemaphore) {
  for_each_procs([] {
    weft::binary_semaphore token(1);
    weft::wait_group all;
    int inside = 0;
    for (int i = 0; i < 10; ++i)
      all.go([&] {
        for (int k = 0; k < scaled(1000); ++k) {
          token.acquire();
          EXPECT_EQ(++inside, 1);
          --inside;
          token.release();
        }
      });
    all.wait();
  });
}

TEST(sync, TestMutex) {
  for_each_procs([] {
    weft::mutex m;
    m.lock();
    EXPECT_FALSE(m.try_lock());
    m.unlock();
    EXPECT_TRUE(m.try_lock());
    m.unlock();

    weft::wait_group all;
    long counter = 0;
    std::atomic<long> locked{0};
    for (int i = 0; i < 10; ++i)
      all.go([&] {
        for (int k = 0; k < scaled(1000); ++k) {
          if (k % 3 == 0) {
            if (!m.try_lock()) continue;
          } else {
            m.lock();
          }
          ++counter;
          ++locked;
          m.unlock();
        }
      });
    all.wait();
    EXPECT_EQ(counter, locked);
  });
}

// Each dies with a text that contains "unlocked", whatever is caught around it.
template <class F>
void expect_misuse(F f) {
  EXPECT_EXIT(
      {
        try {
          f();
        } catch (...) {
        }
      },
      testing::ExitedWithCode(2), "fatal error: sync: .*unlocked");
}

TEST(sync, TestMutexMisuse) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  expect_misuse([] { weft::mutex().unlock(); });
  expect_misuse([] {
    weft::mutex m;
    m.lock();
    m.unlock();
    m.unlock();
  });
  expect_misuse([] { weft::shared_mutex().unlock(); });
  expect_misuse([] {
    weft::shared_mutex m;
    m.lock_shared();
    m.unlock();
  });
  expect_misuse([] {
    weft::shared_mutex m;
    m.lock();
    m.unlock();
    m.unlock();
  });
  expect_misuse([] { weft::shared_mutex().unlock_shared(); });
  expect_misuse([] {
    weft::shared_mutex m;
    m.lock();
    m.unlock_shared();
  });
  expect_misuse([] {
    weft::shared_mutex m;
    m.lock_shared();
    m.unlock_shared();
    m.unlock_shared();
  });
}

TEST(sync, TestMutexFairness) {
  for_each_procs([] {
    weft::mutex m;
    std::atomic<bool> stop{false};
    weft::wait_group greedy, modest;
    greedy.go([&] {
      while (!stop) {
        m.lock();
        weft::this_goroutine::sleep_for(100us);
        m.unlock();
      }
    });
    modest.go([&] {
      for (int i = 0; i < 10; ++i) {
        weft::this_goroutine::sleep_for(100us);
        m.lock();
        m.unlock();
      }
    });
    EXPECT_TRUE(modest.wait_for(30s)) << "cannot get the mutex";
    stop = true;
    greedy.wait();
    modest.wait();
  });
}

// ---- RWMutex ----

void expect_parallel_readers(int readers) {
  weft::shared_mutex m;
  weft::latch all_inside(readers), may_leave(1);
  weft::wait_group all;
  for (int i = 0; i < readers; ++i)
    all.go([&] {
      m.lock_shared();
      all_inside.count_down();
      may_leave.wait();
      m.unlock_shared();
    });
  all_inside.wait();   // hangs unless they are in there together
  may_leave.count_down();
  all.wait();
}

TEST(sync, TestParallelReaders) {
  for_each_procs([] {
    for (int readers : {1, 3, 4}) expect_parallel_readers(readers);
  });
}

constexpr int one_writer = 10000;

void hammer(int readers, int rounds) {
  weft::shared_mutex m;
  std::atomic<int> activity{0};   // readers count 1, a writer 10,000
  weft::wait_group all;
  auto linger = [] {
    for (int i = 0; i < 100; ++i) std::atomic_signal_fence(std::memory_order_seq_cst);
  };
  auto write = [&] {
    for (int i = 0; i < rounds; ++i) {
      m.lock();
      EXPECT_EQ(activity += one_writer, one_writer);
      linger();
      activity -= one_writer;
      m.unlock();
    }
  };
  auto read = [&] {
    for (int i = 0; i < rounds; ++i) {
      m.lock_shared();
      const int now = ++activity;
      EXPECT_TRUE(now >= 1 && now < one_writer) << now;
      linger();
      --activity;
      m.unlock_shared();
    }
  };
  all.go(write);
  for (int i = 0; i < readers / 2; ++i) all.go(read);
  all.go(write);
  for (int i = readers / 2; i < readers; ++i) all.go(read);
  all.wait();
}

TEST(sync, TestRWMutex) {
  for_each_procs([](int procs) {
    weft::shared_mutex m;
    m.lock();
    EXPECT_FALSE(m.try_lock());
    EXPECT_FALSE(m.try_lock_shared());
    m.unlock();
    EXPECT_TRUE(m.try_lock());
    m.unlock();
    EXPECT_TRUE(m.try_lock_shared());
    EXPECT_TRUE(m.try_lock_shared());
    EXPECT_FALSE(m.try_lock());
    m.unlock_shared();
    m.unlock_shared();

    for (int readers : {1, 3, 10}) hammer(readers, scaled(procs == 1 ? 1000 : 500, 20));
  });
}

TEST(sync, TestRLocker) {   // std::shared_lock is the view; locked by one goroutine, unlocked by another
  for_each_procs([] {
    weft::shared_mutex m;
    std::shared_lock<weft::shared_mutex> first(m, std::defer_lock), second(m, std::defer_lock);
    auto write_locked = weft::make_chan<bool>(1), read_locked = weft::make_chan<bool>(1);
    constexpr int rounds = 10;
    weft::wait_group other;
    other.go([&] {
      for (int i = 0; i < rounds; ++i) {
        first.lock();
        second.lock();
        read_locked.send(true);
        m.lock();
        write_locked.send(true);
      }
    });
    for (int i = 0; i < rounds; ++i) {
      read_locked.recv();
      first.unlock();
      EXPECT_FALSE(write_locked.try_recv()) << "the view did not lock for reading";
      second.unlock();
      write_locked.recv();
      EXPECT_FALSE(read_locked.try_recv()) << "the view did not respect the writer";
      m.unlock();
    }
    other.wait();
  });
}

// ---- Cond ----

TEST(sync, TestCondSignal) {
  for_each_procs([] {
    weft::mutex m;
    weft::condition_variable c;
    int n = 2;
    auto running = weft::make_chan<bool>(n), awake = weft::make_chan<bool>(n);
    weft::wait_group all;
    for (int i = 0; i < n; ++i)
      all.go([&] {
        lock_t lock(m);
        running.send(true);
        c.wait(lock);
        awake.send(true);
      });
    for (int i = 0; i < n; ++i) running.recv();
    for (; n > 0; --n) {
      EXPECT_FALSE(awake.try_recv()) << "a goroutine is not asleep";
      m.lock();
      c.notify_one();
      m.unlock();
      awake.recv();
      EXPECT_FALSE(awake.try_recv()) << "too many goroutines awake";
    }
    c.notify_one();
    all.wait();
  });
}

TEST(sync, TestCondSignalGenerations) {
  for_each_procs([] {
    weft::mutex m;
    weft::condition_variable c;
    constexpr int n = 100;
    auto running = weft::make_chan<bool>(n);
    auto awake = weft::make_chan<int>(n);
    for (int i = 0; i < n; ++i) {
      weft::go([&, i] {
        lock_t lock(m);
        running.send(true);
        c.wait(lock);
        awake.send(i);
      });
      if (i > 0) {
        EXPECT_EQ(*awake.recv(), i - 1);
      }
      running.recv();
      m.lock();
      c.notify_one();
      m.unlock();
    }
    EXPECT_EQ(*awake.recv(), n - 1);
    lock_t last(m);   // the last one has left the condition variable's mutex
  });
}

TEST(sync, TestCondBroadcast) {
  for_each_procs([] {
    weft::mutex m;
    weft::condition_variable c;
    const int n = scaled(200, 20);
    auto running = weft::make_chan<int>(n), awake = weft::make_chan<int>(n);
    bool exit = false;
    weft::wait_group all;
    for (int i = 0; i < n; ++i)
      all.go([&, i] {
        lock_t lock(m);
        while (!exit) {
          running.send(i);
          c.wait(lock);
          awake.send(i);
        }
      });
    for (int round = 0; round < n; ++round) {
      for (int i = 0; i < n; ++i) running.recv();
      if (round == n - 1) {
        lock_t lock(m);
        exit = true;
      }
      EXPECT_FALSE(awake.try_recv()) << "a goroutine is not asleep";
      m.lock();
      c.notify_all();
      m.unlock();
      std::vector<bool> seen(n);
      for (int i = 0; i < n; ++i) {
        const int who = *awake.recv();
        EXPECT_FALSE(seen[who]) << "woke up twice";
        seen[who] = true;
      }
    }
    all.wait();
    EXPECT_FALSE(running.try_recv()) << "a goroutine did not exit";
    c.notify_all();
  });
}

TEST(sync, TestRace) {
  for_each_procs([] {
    int x = 0;
    weft::mutex m;
    weft::condition_variable c;
    weft::wait_group all;
    auto until = [&](lock_t& lock, auto condition) {
      while (!condition()) {
        lock.unlock();
        weft::this_goroutine::yield();
        lock.lock();
      }
    };
    all.go([&] {
      lock_t lock(m);
      x = 1;
      c.wait(lock);
      EXPECT_EQ(x, 2);
      x = 3;
      c.notify_one();
    });
    all.go([&] {
      lock_t lock(m);
      until(lock, [&] { return x == 1; });
      x = 2;
      c.notify_one();
    });
    all.go([&] {
      lock_t lock(m);
      until(lock, [&] { return x == 2 || x == 3; });
      if (x == 2) {
        c.wait(lock);
        EXPECT_EQ(x, 3);
      }
    });
    all.wait();
  });
}

TEST(sync, TestCondSignalStealing) {
  for_each_procs([] {
    for (int round = 0; round < scaled(1000); ++round) {
      weft::mutex m;
      weft::condition_variable c;
      auto first = weft::make_chan<bool>();
      bool done = false;
      weft::wait_group all;
      all.go([&] {
        lock_t lock(m);
        first.send(true);
        c.wait(lock);
        lock.unlock();
        first.send(true);
      });
      first.recv();
      m.lock();   // the waiter gave it away in wait()
      m.unlock();

      all.go([&] { c.notify_all(); });
      all.go([&] {   // may or may not be notified; the first one must be
        lock_t lock(m);
        while (!done) c.wait(lock);
      });
      ASSERT_TRUE(first.recv_for(30s)) << "the first waiter did not get the broadcast";
      m.lock();
      done = true;
      m.unlock();
      c.notify_all();
      all.wait();
    }
  });
}

TEST(sync, TestCondCopy) {   // refused by the compiler
  static_assert(!std::is_copy_constructible_v<weft::condition_variable>);
  static_assert(!std::is_copy_assignable_v<weft::condition_variable>);
  static_assert(!std::is_move_constructible_v<weft::condition_variable>);
}

}  // namespace
