// semaphore_test.cpp — the line, limits, and destruction.
#include "weft/semaphore.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <stdexcept>
#include <stop_token>
#include <vector>

#include "support/weft_test.hpp"
#include "weft/wait_group.hpp"

namespace {

using namespace std::chrono_literals;
using weft_test::for_each_procs;
using weft_test::scaled;

TEST(semaphore, HasStdsInterface) {
  static_assert(weft::binary_semaphore::max() == 1);
  static_assert(weft::counting_semaphore<>::max() > 1'000'000);
  weft::counting_semaphore<5> s(2);
  s.acquire();
  EXPECT_TRUE(s.try_acquire());
  EXPECT_FALSE(s.try_acquire());
  s.release(3);
  EXPECT_TRUE(s.try_acquire(3));
  EXPECT_THROW(s.release(6), std::logic_error);
  EXPECT_THROW(s.release(-1), std::logic_error);
  s.release(5);
}

TEST(semaphore, IsFirstComeFirstServedWhateverTheWeight) {
  for_each_procs([] {
    weft::counting_semaphore<10> s(0);
    std::vector<int> order;
    weft::wait_group all;
    std::atomic<int> started{0};
    const int weights[] = {3, 1, 2};
    for (int i = 0; i < 3; ++i) {
      all.go([&, i] {
        ++started;
        s.acquire(weights[i]);
        order.push_back(i);   // one token at a time comes in: they are served one by one
        ++started;
      });
      while (started != i + 1) weft::this_goroutine::yield();
      weft::this_goroutine::sleep_for(1ms);
    }
    EXPECT_FALSE(s.try_acquire());
    for (int served = 0, given = 0; served < 3; ++served) {
      for (; given < (served == 0 ? 3 : served == 1 ? 4 : 6); ++given) s.release();
      while (started != 4 + served) weft::this_goroutine::yield();
    }
    all.wait();
    EXPECT_EQ(order, (std::vector<int>{0, 1, 2}));
  });
}

TEST(semaphore, LimitsEndTheWait) {
  for_each_procs([] {
    weft::counting_semaphore<4> s(1);
    std::stop_source stop;
    EXPECT_FALSE(s.try_acquire_for(1ms, 2));
    EXPECT_FALSE(s.try_acquire_until(std::chrono::steady_clock::now() + 1ms, 3));
    EXPECT_FALSE(s.try_acquire_for(1ms, 5));   // more than there can be
    weft::wait_group all;
    all.go([&] { EXPECT_FALSE(s.acquire(2, stop.get_token())); });
    weft::this_goroutine::sleep_for(1ms);
    stop.request_stop();
    all.wait();
    EXPECT_FALSE(s.acquire(stop.get_token()));
    EXPECT_TRUE(s.try_acquire());
  });
}

TEST(semaphore, GivingUpLosesNoToken) {
  for_each_procs([] {
    constexpr int n = 5;
    weft::counting_semaphore<n> s(n);
    std::atomic<int> held{0};
    weft::wait_group all;
    for (int who = 0; who < 8; ++who)
      all.go([&, who] {
        for (int i = 0; i < scaled(300, 30); ++i) {
          const int weight = 1 + (who + i) % n;
          if (i % 2)
            s.acquire(weight);
          else if (!s.try_acquire_for(std::chrono::microseconds(i % 40), weight))
            continue;
          EXPECT_LE(held += weight, n);
          if (i % 5 == 0) weft::this_goroutine::yield();
          held -= weight;
          s.release(weight);
        }
      });
    all.wait();
    EXPECT_TRUE(s.try_acquire(n));
  });
}

TEST(semaphore, MayBeDestroyedByTheOneThatGotTheToken) {
  for_each_procs([] {
    for (int round = 0; round < scaled(1000, 100); ++round) {
      auto s = std::make_unique<weft::binary_semaphore>(0);
      weft::binary_semaphore* raw = s.get();
      weft::wait_group all;
      all.go([s = std::move(s)]() mutable {
        s->acquire();
        s.reset();
      });
      if (round % 2) weft::this_goroutine::yield();
      raw->release();
      all.wait();
    }
  });
}

}  // namespace
