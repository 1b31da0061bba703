// timer_test.cpp — sleep, timer, ticker and after beyond what Go's suite asks.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <random>
#include <thread>
#include <vector>

#include "weft/chan.hpp"
#include "weft/go.hpp"
#include "weft/join_handle.hpp"
#include "weft/runtime.hpp"
#include "weft/select.hpp"
#include "weft/timer.hpp"
#include "weft_test.hpp"

namespace {

using namespace std::chrono_literals;
using clock = std::chrono::steady_clock;
using weft::after;
using weft::spawn;
using weft::ticker;
using weft::timer;
using weft::this_goroutine::sleep_for;
using weft_test::for_each_procs;
using weft_test::scaled;
using weft_test::with_procs;

TEST(sleep, many_sleepers_are_never_early) {
  for_each_procs([] {
    std::vector<weft::join_handle<void>> hs;
    for (int i = 0; i < scaled(2000); ++i)
      hs.push_back(spawn([i] {
        const auto d = std::chrono::microseconds(i % 97 * 100);
        const auto start = clock::now();
        sleep_for(d);
        ASSERT_GE(clock::now() - start, d);
      }));
    for (auto& h : hs) h.join();
  });
}

TEST(sleep, until_a_time_point) {
  with_procs(2, [] {
    const auto t = clock::now() + 10ms;
    weft::this_goroutine::sleep_until(t);
    EXPECT_GE(clock::now(), t);
    weft::this_goroutine::sleep_until(t);
    const auto wall = std::chrono::system_clock::now() + 10ms;
    const auto start = clock::now();
    weft::this_goroutine::sleep_until(wall);
    EXPECT_GE(clock::now() - start, 9ms);
  });
}

// The locked goroutine's M hands the P on, with the timer, while another P is idle already and nobody polls.
// Longer than it takes sysmon to fall asleep for good.
TEST(sleep, locked_while_all_else_is_idle) {
  with_procs(2, [] {
    sleep_for(1ms);
    const auto ready = clock::now() + 50ms;
    while (clock::now() < ready) {         // whom that has woken goes idle again, with no timer to wait for
    }
    weft::thread_lock here;
    const auto start = clock::now();
    sleep_for(2500ms);
    EXPECT_LT(clock::now() - start, 3500ms);
  });
}

TEST(sleep, on_threads) {
  const auto sleep_here = [] {
    const auto start = clock::now();
    sleep_for(5ms);
    EXPECT_GE(clock::now() - start, 5ms);
  };
  std::thread(sleep_here).join();          // no world
  with_procs(2, [&] {
    weft_test::flag done;
    std::thread t([&] {
      sleep_here();
      done.set();
    });
    done.wait_in_goroutine();
    t.join();
  });
}

TEST(timer, each_expiry_is_a_goroutine_of_its_own) {
  for_each_procs([] {
    auto ids = weft::make_chan<std::uint64_t>(8);
    timer t(1ms, [&] { ids.send(weft::this_goroutine::id()); });
    std::vector<std::uint64_t> seen{weft::this_goroutine::id()};
    for (int i = 0; i < 5; ++i) {
      seen.push_back(*ids.recv());
      EXPECT_FALSE(t.reset(1ms));
    }
    seen.push_back(*ids.recv());
    std::sort(seen.begin(), seen.end());
    EXPECT_EQ(std::unique(seen.begin(), seen.end()), seen.end());
    EXPECT_FALSE(t.chan());
  });
}

TEST(timer, function_is_destroyed_outside_with_the_last_user) {
  for_each_procs([] {
    auto held = std::make_shared<int>(1);
    {
      timer stopped(1h, [held] {}), dropped(1h, [held] {}), moved(std::move(dropped));
      stopped.stop();
      EXPECT_EQ(held.use_count(), 3);
    }
    EXPECT_EQ(held.use_count(), 1);
    auto ran = weft::make_chan<int>();
    after(1ms, [held, ran] { ran.send(1); });
    ran.recv();
    while (held.use_count() != 1) weft::this_goroutine::yield();
    {
      auto go_on = weft::make_chan<int>();
      auto t = std::make_unique<timer>(0s, [held, ran, go_on] {
        ran.send(1);
        go_on.recv();
      });
      ran.recv();
      t.reset();                           // the function still runs
      EXPECT_EQ(held.use_count(), 2);
      go_on.send(1);
    }
    while (held.use_count() != 1) weft::this_goroutine::yield();
  });
}

TEST(timer, stop_or_run_exactly_one) {
  for_each_procs([] {
    std::atomic<int> runs{0};
    int stops = 0;
    const int n = scaled(5000);
    for (int i = 0; i < n; ++i) {
      timer t(std::chrono::microseconds(i % 20), [&] { ++runs; });
      sleep_for(std::chrono::microseconds(i % 23));
      stops += t.stop();
      EXPECT_FALSE(t.stop());
    }
    const auto limit = clock::now() + 10s;
    while (runs + stops != n && clock::now() < limit) sleep_for(1ms);
    EXPECT_EQ(runs + stops, n);
  });
}

TEST(timer, nil_function) {
  EXPECT_THROW(timer(1ms, std::function<void()>()), std::bad_function_call);
  EXPECT_THROW(after(1ms, std::function<void()>()), std::bad_function_call);
}

TEST(timer, exit_in_the_function) {
  with_procs(2, [] {
    auto held = std::make_shared<int>(1);
    after(0s, [held] { weft::this_goroutine::exit(); });
    while (held.use_count() != 1) weft::this_goroutine::yield();
  });
}

TEST(timer, polled_without_a_scheduling_point) {
  with_procs(1, [] {
    auto c = after(2ms);
    while (!c.try_recv().has_value()) {}   // nobody else could deliver it
    ticker t(1ms);
    for (int i = 0; i < 3; ++i)
      while (!t.chan().try_recv().has_value()) {}
  });
}

TEST(timer, received_by_threads) {
  for_each_procs([] {
    weft_test::flag done;
    std::thread thread([&] {
      const auto start = clock::now();
      after(5ms).recv();
      EXPECT_GE(clock::now() - start, 5ms);
      EXPECT_EQ(after(1h).recv_for(2ms).error_or({}), weft::errc::timed_out);
      ticker t(1ms);
      for (int i = 0; i < 3; ++i) t.chan().recv();
      done.set();
    });
    while (!done.is_set()) sleep_for(1ms);
    thread.join();
  });
}

TEST(timer, without_a_world) {
  std::atomic<bool> ran{false};
  after(1ms, [&] { ran = true; });         // needs a world
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([i] {
      const auto start = clock::now();
      after(std::chrono::milliseconds(3 + i)).recv();
      EXPECT_GE(clock::now() - start, std::chrono::milliseconds(3 + i));
      EXPECT_EQ(after(1h).recv_for(1ms).error_or({}), weft::errc::timed_out);
      ticker t(1ms);
      for (int k = 0; k < 3; ++k) t.chan().recv();
    });
  for (auto& t : threads) t.join();
  EXPECT_FALSE(ran);
  with_procs(1, [&] {
    while (!ran) sleep_for(1ms);
  });
}

TEST(ticker, keeps_its_phase_and_drops_what_nobody_took) {
  with_procs(2, [] {
    constexpr auto period = 4ms;
    ticker t(period);
    const auto first = *t.chan().recv();
    sleep_for(5 * period + period / 2);
    auto last = first;
    for (int i = 0; i < 4; ++i) {
      const auto at = *t.chan().recv();
      EXPECT_GT(at, last);
      EXPECT_EQ((at - first) % period, 0ns);
      last = at;
    }
    EXPECT_GE(last - first, 7 * period);   // one was kept for us, four were dropped
  });
}

TEST(ticker, channel_goes_on_without_it) {
  with_procs(2, [] {
    auto c = [] { return ticker(1ms).chan(); }();
    for (int i = 0; i < 3; ++i) EXPECT_TRUE(c.recv());
  });
}

TEST(timer, one_is_left_behind_by_a_select) {
  for_each_procs([] {
    auto c = weft::make_chan<int>();
    auto long_one = after(1h);
    auto sender = spawn([&] {
      for (int i = 0; i < scaled(2000); ++i) c.send(i);
    });
    for (int i = 0; i < scaled(2000); ++i) {
      EXPECT_EQ(weft::select(weft::on_recv(c, weft::nothing), weft::on_recv(long_one, weft::nothing),
                             weft::on_recv(after(1h), weft::nothing)), 0u);
    }
    sender.join();
    EXPECT_FALSE(long_one.try_recv().has_value());
  });
}

// After stop or reset has returned no value from before can be received.
TEST(timer, no_stale_value) {
  with_procs(4, [] {
    std::vector<weft::join_handle<void>> hs;
    for (int g = 0; g < 8; ++g)
      hs.push_back(spawn([g] {
        std::mt19937 random(static_cast<unsigned>(g));
        timer t(1h);
        auto other = spawn([&, g](std::stop_token stop) {   // receives at any time
          std::mt19937 mine(static_cast<unsigned>(g) + 100);
          while (!stop.stop_requested()) {
            (void)t.chan().recv_for(std::chrono::microseconds(mine() % 200));
          }
        });
        for (int i = 0; i < scaled(1500); ++i) {
          const auto d = std::chrono::microseconds(random() % 300);
          const auto before = clock::now();
          t.reset(d);
          if (auto at = t.chan().recv_for(std::chrono::microseconds(random() % 400)); at.has_value()) {
            ASSERT_GE(*at - before, d);
          }
          if (random() % 2) {
            t.stop();
            ASSERT_FALSE(t.chan().try_recv().has_value());
          }
        }
      }));
    for (auto& h : hs) h.join();
  });
}

// Pending, expired and unread, expired and read; each then stopped, looked at, and reset.
TEST(timer, drain_idiom_never_hangs) {
  with_procs(2, [] {
    for (int i = 0; i < scaled(300, 10); ++i)
      for (int state = 0; state < 3; ++state) {
        timer t(state == 0 ? std::chrono::nanoseconds(1h) : 10us);
        if (state > 0) sleep_for(30us);
        if (state == 2) t.chan().recv();
        if (!t.stop()) (void)t.chan().try_recv();
        const auto start = clock::now();
        t.reset(200us);
        const auto at = t.chan().recv_for(10s);
        ASSERT_TRUE(at.has_value());
        ASSERT_GE(clock::now() - start, 200us);
      }
  });
}

// The fire function finds the channel locked again and again: no tick may be lost for those who wait.
TEST(ticker, expires_while_its_channel_is_busy) {
  for_each_procs([](int procs) {
    for (int round = 0; round < scaled(10, 2); ++round) {
      ticker t(20us);
      std::vector<weft::join_handle<void>> busy, waiting;
      for (int i = 0; i < procs; ++i)
        busy.push_back(spawn([&](std::stop_token stop) {
          while (!stop.stop_requested()) {
            for (int k = 0; k < 100; ++k) (void)t.chan().try_recv();
            weft::this_goroutine::yield();
          }
        }));
      for (int i = 0; i < 3; ++i) waiting.push_back(spawn([&] { t.chan().recv(); }));
      sleep_for(2ms);
      busy.clear();
      for (auto& w : waiting) w.join();
    }
  });
}

// Timers of a world that has ended do nothing in the next, and can be used again.
TEST(timer, outlives_a_world) {
  std::atomic<int> runs{0};
  timer with_function(1h, [&] { ++runs; });
  timer with_channel(1h);
  with_procs(2, [&] {
    with_function.reset(1h);
    auto stuck = weft::make_chan<int>();
    weft::go([&] { with_channel.chan().recv(); });
    weft::go([&] { sleep_for(1h); });
    sleep_for(1ms);
    EXPECT_TRUE(with_channel.reset(1h));
  });
  with_procs(2, [&] {
    with_function.reset(1ms);
    with_channel.reset(1ms);
    EXPECT_TRUE(with_channel.chan().recv());
    while (runs == 0) sleep_for(1ms);
    EXPECT_EQ(runs, 1);
  });
}

}  // namespace
