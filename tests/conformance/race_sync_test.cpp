// race_sync_test.cpp — which happens-before edges the sync types make (Go's race detector tests that must
// stay silent). Ordinary builds check the values; under ThreadSanitizer a missing edge is a report, and so a
// failure.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <mutex>
#include <shared_mutex>
#include <stdexcept>

#include "support/weft_test.hpp"
#include "weft/barrier.hpp"
#include "weft/chan.hpp"
#include "weft/condition_variable.hpp"
#include "weft/latch.hpp"
#include "weft/mutex.hpp"
#include "weft/once.hpp"
#include "weft/semaphore.hpp"
#include "weft/shared_mutex.hpp"
#include "weft/wait_group.hpp"

namespace {

using namespace std::chrono_literals;
using weft_test::for_each_procs;
using weft_test::scaled;
using lock_t = std::unique_lock<weft::mutex>;

// Runs the bodies as goroutines and waits for them without making an edge that the test could lean on before
// its end.
template <class... F>
void together(F... bodies) {
  auto ended = weft::make_chan<bool>(sizeof...(F));
  (weft::go([bodies, ended]() mutable {
     bodies();
     ended.send(true);
   }), ...);
  for (std::size_t i = 0; i < sizeof...(F); ++i) ended.recv();
}

// ---- Mutex ----

TEST(race_sync, TestNoRaceMutex) {
  for_each_procs([] {
    weft::mutex m;
    int x = 0;
    auto add = [&] {
      for (int i = 0; i < scaled(2000, 200); ++i) {
        std::lock_guard lock(m);
        ++x;
      }
    };
    together(add, add, add, add);
    EXPECT_EQ(x, 4 * scaled(2000, 200));
  });
}

// Starving and parked waiters: the slow paths make the same edge.
TEST(race_sync, TestNoRaceMutexHandedOver) {
  for_each_procs([] {
    weft::mutex m;
    int x = 0;
    auto add = [&] {
      for (int i = 0; i < 5; ++i) {
        std::lock_guard lock(m);
        ++x;
        weft::this_goroutine::sleep_for(500us);
      }
    };
    together(add, add, add, add);
    EXPECT_EQ(x, 20);
  });
}

TEST(race_sync, TestNoRaceMutexPureHappensBefore) {
  for_each_procs([] {
    weft::mutex m;
    int x = 0;
    bool written = false;
    together(
        [&] {
          x = 1;
          std::lock_guard lock(m);
          written = true;
        },
        [&] {
          lock_t lock(m);
          while (!written) {
            lock.unlock();
            weft::this_goroutine::yield();
            lock.lock();
          }
          lock.unlock();
          EXPECT_EQ(x++, 1);
        });
    EXPECT_EQ(x, 2);
  });
}

TEST(race_sync, TestNoRaceMutexSemaphore) {   // unlocked by another goroutine than locked it
  for_each_procs([] {
    weft::mutex m;
    int x = 0;
    m.lock();
    together(
        [&] {
          x = 1;
          m.unlock();
        },
        [&] {
          m.lock();
          EXPECT_EQ(x, 1);
          x = 2;
          m.unlock();
        });
    EXPECT_EQ(x, 2);
  });
}

TEST(race_sync, TestNoRaceMutexTimed) {
  for_each_procs([] {
    weft::mutex m;
    int x = 0;
    std::stop_source nobody;
    auto add = [&] {
      for (int i = 0; i < scaled(400, 100); ++i) {
        ASSERT_TRUE(i % 2 ? m.try_lock_for(60s) : m.lock(nobody.get_token()));
        ++x;
        m.unlock();
      }
    };
    together(add, add, add);
    EXPECT_EQ(x, 3 * scaled(400, 100));
  });
}

// ---- RWMutex ----

TEST(race_sync, TestNoRaceRWMutex) {
  for_each_procs([] {
    weft::shared_mutex m;
    int x = 0, y = 0;
    auto write = [&] {
      for (int i = 0; i < scaled(500, 100); ++i) {
        std::lock_guard lock(m);
        ++x;
        y = x;
      }
    };
    auto read = [&] {
      for (int i = 0; i < scaled(500, 100); ++i) {
        std::shared_lock lock(m);
        EXPECT_EQ(x, y);
      }
    };
    together(write, read, read, write);
    EXPECT_EQ(x, 2 * scaled(500, 100));
  });
}

// Each reader writes what is its own, the writer reads all.
TEST(race_sync, TestNoRaceRWMutexMultipleReaders) {
  for_each_procs([] {
    weft::shared_mutex m;
    int own[3] = {}, x = 0;
    auto read = [&](int* mine) {
      return [&m, &x, mine] {
        for (int i = 0; i < 50; ++i) {
          std::shared_lock lock(m);
          *mine = x + 1;
          weft::this_goroutine::yield();
        }
      };
    };
    together(read(&own[0]), read(&own[1]), read(&own[2]), [&] {
      for (int i = 0; i < 50; ++i) {
        std::lock_guard lock(m);
        x = own[0] + own[1] + own[2] > 1'000'000 ? 0 : x + 1;
      }
    });
  });
}

TEST(race_sync, TestNoRaceRWMutexTransitive) {   // both readers' writes are seen after lock()
  for_each_procs([] {
    weft::shared_mutex m;
    int x = 0, y = 0;
    std::atomic<int> left{2};
    auto leave = [&](int& own) {
      return [&m, &own, &left] {
        m.lock_shared();
        own = 42;
        m.unlock_shared();
        left.fetch_sub(1, std::memory_order_relaxed);
      };
    };
    together(leave(x), leave(y), [&] {
      while (left.load(std::memory_order_relaxed) != 0) weft::this_goroutine::yield();
      m.lock();
      EXPECT_EQ(x + y, 84);
      m.unlock();
    });
  });
}

// ---- WaitGroup ----

TEST(race_sync, TestNoRaceWaitGroup) {
  for_each_procs([] {
    weft::wait_group group;
    int x[2] = {};
    for (int i = 0; i < 2; ++i) {
      group.add(1);
      weft::go([&, i] {
        x[i] = 1;
        group.done();
      });
    }
    group.wait();
    EXPECT_EQ(x[0] + x[1], 2);
  });
}

TEST(race_sync, TestNoRaceWaitGroupTransitive) {   // the one that is not the last counts as well
  for_each_procs([] {
    weft::wait_group group;
    int x = 0, y = 0;
    group.add(2);
    weft::go([&] {
      x = 42;
      group.done();
    });
    weft::go([&] {
      weft::this_goroutine::sleep_for(1ms);
      y = 42;
      group.done();
    });
    group.wait();
    EXPECT_EQ(x + y, 84);
  });
}

TEST(race_sync, TestNoRaceWaitGroupMultipleWait) {
  for_each_procs([] {
    weft::wait_group group;
    int x = 0;
    group.add(1);
    auto look = [&] {
      group.wait();
      EXPECT_EQ(x, 1);
    };
    together(look, look, [&] {
      x = 1;
      group.done();
    }, look);
  });
}

TEST(race_sync, TestNoRaceWaitGroupPanicRecover) {
  weft::wait_group group;
  int x = 1;
  EXPECT_THROW(group.add(-1), std::logic_error);
  x = 2;
  EXPECT_EQ(x, 2);
}

TEST(race_sync, TestNoRaceWaitGroupReuse) {
  for_each_procs([] {
    weft::wait_group group;
    int x = 0;
    for (int round = 0; round < 20; ++round) {
      group.go([&] { ++x; });
      group.wait();
    }
    EXPECT_EQ(x, 20);
  });
}

TEST(race_sync, TestNoRaceWaitGroupConcurrentAdd) {
  for_each_procs([] {
    weft::wait_group group;
    int x[4] = {};
    auto waiting = weft::make_chan<bool>(4);
    for (int i = 0; i < 4; ++i)
      weft::go([&, i] {
        group.add(1);
        waiting.send(true);
        weft::go([&, i] {
          x[i] = 1;
          group.done();
        });
      });
    for (int i = 0; i < 4; ++i) waiting.recv();
    group.wait();
    EXPECT_EQ(x[0] + x[1] + x[2] + x[3], 4);
  });
}

// ---- Cond, Once, and what Go does not have ----

TEST(race_sync, TestNoRaceCond) {
  for_each_procs([] {
    weft::mutex m;
    weft::condition_variable c;
    int x = 0, condition = 0;
    together(
        [&] {
          x = 1;
          std::lock_guard lock(m);
          condition = 1;
          c.notify_one();
        },
        [&] {
          lock_t lock(m);
          while (condition != 1) c.wait(lock);
          lock.unlock();
          EXPECT_EQ(x, 1);
        });
  });
}

TEST(race_sync, TestNoRaceOnce) {
  for_each_procs([] {
    weft::once_flag once;
    int x = 0;
    auto use = [&] {
      weft::call_once(once, [&] {
        weft::this_goroutine::yield();
        x = 1;
      });
      EXPECT_EQ(x, 1);
    };
    together(use, use, use);
  });
}

TEST(race_sync, NoRaceSemaphore) {   // fast and slow releases, fast and slow acquires
  for_each_procs([] {
    weft::binary_semaphore s(1);
    int x = 0;
    auto add = [&] {
      for (int i = 0; i < scaled(500, 100); ++i) {
        s.acquire();
        ++x;
        s.release();
      }
    };
    together(add, add, add);
    EXPECT_EQ(x, 3 * scaled(500, 100));
  });
}

TEST(race_sync, NoRaceLatchAndBarrier) {
  for_each_procs([] {
    weft::latch all_there(3);
    int x[3] = {}, sum = 0;
    weft::barrier meet(3, [&]() noexcept { sum = x[0] + x[1] + x[2]; });
    auto body = [&](int i) {
      return [&, i] {
        x[i] = 1;
        all_there.arrive_and_wait();
        EXPECT_EQ(x[0] + x[1] + x[2], 3);
        for (int round = 1; round <= 20; ++round) {
          meet.arrive_and_wait();   // nobody writes before all have looked
          x[i] = round;
          meet.arrive_and_wait();
          EXPECT_EQ(sum, 3 * round);
        }
      };
    };
    together(body(0), body(1), body(2));
  });
}

}  // namespace
