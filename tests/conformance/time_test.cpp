// time_test.cpp — Go's time/sleep_test.go restated; one test a row of the reference. Shorter waits, same
// questions.
//
// Nothing here asserts that something is quick, but where Go does; those tests try again with more time, as
// Go's do.
#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <limits>
#include <memory>
#include <optional>
#include <random>
#include <stdexcept>
#include <string>
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
using duration = std::chrono::nanoseconds;
using weft::after;
using weft::go;
using weft::spawn;
using weft::ticker;
using weft::timer;
using weft::this_goroutine::sleep_for;
using weft_test::for_each_procs;
using weft_test::scaled;
using weft_test::with_procs;

using handles = std::vector<weft::join_handle<void>>;

void join_all(handles& hs) {
  for (auto& h : hs) h.join();
  hs.clear();
}

void stop_the_world_once() { weft::stop_the_world([](void*) {}, nullptr); }

// While one exists, the world is stopped again and again.
class world_stopper {
 public:
  world_stopper()
      : stopper_(spawn([this](std::stop_token stop) {
          for (; !stop.stop_requested(); ++stops_) {
            stop_the_world_once();
            weft::this_goroutine::yield();
          }
        })) {}
  bool has_stopped(int times) const { return stops_ >= times; }

 private:
  std::atomic<int> stops_{0};
  weft::join_handle<void> stopper_;
};

// `attempt(unit)` with more and more time until it is true: what noise can break, none of the code's.
template <class F>
void try_with_more_time(duration unit, F attempt) {
  for (int i = 0; i < 5; ++i, unit *= 2)
    if (attempt(unit)) return;
  ADD_FAILURE() << "failed with every unit of time up to " << unit.count() << " ns";
}

using tick_chan = weft::recv_chan<clock::time_point>;

// Receives from the first of two that can: 0 or 1.
template <class T>
std::size_t first_of(const tick_chan& a, const weft::recv_chan<T>& b) {
  return weft::select(weft::on_recv(a, weft::nothing), weft::on_recv(b, weft::nothing));
}

bool has_value(const timer& t) { return t.chan().try_recv().has_value(); }

TEST(time, TestSleep) {
  for_each_procs([] {
    static constexpr auto delay = 60ms;
    auto interrupter = spawn([] {
      sleep_for(delay / 2);
      stop_the_world_once();
    });
    const auto start = clock::now();
    sleep_for(delay);
    EXPECT_GE(clock::now() - start, delay);
    interrupter.join();
  });
}

TEST(time, TestAfterFunc) {
  for_each_procs([] {
    static constexpr auto pause = 100ms;
    auto left = std::make_shared<std::atomic<int>>(10);
    auto done = weft::make_chan<bool>();
    struct link {
      std::shared_ptr<std::atomic<int>> left;
      weft::chan<bool> done;
      void operator()() const {
        if (left->fetch_sub(1) > 0) {
          after(0s, *this);
          sleep_for(pause);
        } else {
          done.send(true);
        }
      }
    };
    const auto start = clock::now();
    after(0s, link{left, done});
    done.recv();
    EXPECT_LT(clock::now() - start, 10 * pause) << "the next function waited for the one before";
  });
}

TEST(time, TestTickerStress) {
  with_procs(4, [] {
    world_stopper stopper;
    ticker t(1ns);
    for (int i = 0; i < 100 || !stopper.has_stopped(20); ++i) t.chan().recv();
  });
}

TEST(time, TestTickerConcurrentStress) {
  with_procs(4, [] {
    world_stopper stopper;
    ticker t(1ns);
    handles hs;
    for (int i = 0; i < 10; ++i)
      hs.push_back(spawn([&] {
        for (int k = 0; k < 100 || !stopper.has_stopped(20); ++k) t.chan().recv();
      }));
    join_all(hs);
  });
}

TEST(time, TestAfterFuncStarvation) {
  with_procs(1, [] {
    std::atomic<bool> stop{false};
    auto c = weft::make_chan<bool>(1);
    auto sender = spawn([&] {
      while (!stop) c.send(true);
      c.close();
    });
    auto receiver = spawn([&] {
      for ([[maybe_unused]] bool b : c) {}
    });
    after(1us, [&] { stop = true; });
    sender.join();
    receiver.join();
  });
}

TEST(time, TestAfter) {
  for_each_procs([] {
    constexpr auto delay = 50ms;
    const auto start = clock::now();
    const auto due = after(delay).recv();
    EXPECT_GE(clock::now() - start, delay);
    ASSERT_TRUE(due);
    EXPECT_GE(*due - start, delay);
  });
}

TEST(time, TestAfterTick) {
  with_procs(2, [] {
    try_with_more_time(20ms, [](duration delta) {
      constexpr int count = 10;
      const auto start = clock::now();
      for (int i = 0; i < count; ++i) after(delta).recv();
      const auto took = clock::now() - start;
      EXPECT_GE(took, count * delta);
      return took < 3 * count * delta;
    });
  });
}

TEST(time, TestAfterStop) {
  with_procs(4, [] {
    try_with_more_time(10ms, [](duration unit) {
      std::atomic<bool> fired{false};
      timer with_function(5 * unit, [&] { fired = true; });
      timer with_channel(15 * unit);
      if (!with_function.stop()) return false;
      if (!with_channel.stop()) return false;
      sleep_for(30 * unit);
      EXPECT_FALSE(fired);
      EXPECT_FALSE(has_value(with_channel));
      EXPECT_FALSE(with_function.stop());
      EXPECT_FALSE(with_channel.stop());
      return true;
    });
  });
}

TEST(time, TestAfterQueuing) {
  with_procs(2, [] {
    struct arrival {
      int slot;
      clock::time_point due;
    };
    try_with_more_time(20ms, [](duration delta) {
      std::array slots{5, 3, 6, 6, 6, 1, 1, 2, 7, 9, 4, 8, 0};
      auto result = weft::make_chan<arrival>(slots.size());
      const auto start = clock::now();
      for (int slot : slots)
        go([result, slot, c = after(delta * slot)] { result.send({slot, *c.recv()}); });
      std::sort(slots.begin(), slots.end());
      bool good = true;
      for (int slot : slots) {
        const arrival a = *result.recv();
        good &= a.slot == slot;
        EXPECT_GE(a.due - start, delta * a.slot);
      }
      return good;
    });
  });
}

TEST(time, TestTimerStopStress) {
  with_procs(4, [] {
    std::atomic<int> fired{0};
    handles hs;
    for (int i = 0; i < 100; ++i)
      hs.push_back(spawn([&] {
        timer t(1s, [&] { ++fired; });
        sleep_for(100ms);
        t.stop();
      }));
    join_all(hs);
    sleep_for(1200ms);
    EXPECT_EQ(fired, 0);
  });
}

TEST(time, TestSleepZeroDeadlock) {
  with_procs(4, [] {
    auto stopper = spawn([] {
      for (int i = 0; i < scaled(100); ++i) stop_the_world_once();
    });
    for (int i = 0; i < 100; ++i) {
      sleep_for(0s);
      auto tmp = weft::make_chan<bool>(1);
      tmp.send(true);
      tmp.recv();
    }
    stopper.join();
  });
}

TEST(time, TestReset) {
  with_procs(2, [] {
    try_with_more_time(15ms, [](duration unit) {
      timer t(2 * unit);
      sleep_for(unit);
      if (!t.reset(3 * unit)) return false;
      sleep_for(2 * unit);
      if (has_value(t)) return false;    // too early, unless we slept too long
      sleep_for(2 * unit);
      EXPECT_TRUE(has_value(t));
      EXPECT_FALSE(t.reset(50ms));
      return true;
    });
  });
}

TEST(time, TestOverflowSleep) {
  for_each_procs([] {
    constexpr auto big = duration::max();
    go([] {
      sleep_for(duration::max());
      ADD_FAILURE() << "slept for ever";
    });
    auto longest = after(big);
    EXPECT_EQ(first_of(longest, after(25ms)), 1u);
    sleep_for(duration::min());
    EXPECT_EQ(first_of(after(duration::min()), after(5s)), 0u);
    EXPECT_FALSE(after(std::chrono::hours::max()).try_recv().has_value());
  });
}

template <class F>
std::string complaint_of(F f) {
  try {
    f();
  } catch (const std::logic_error& e) {
    return e.what();
  }
  return "";
}

TEST(time, TestIssue5745) {
  with_procs(2, [] {
    timer none;
    EXPECT_NE(complaint_of([&] { none.stop(); }), "");
    ticker t(1ms);                         // a lock that was left held would stop this
    t.chan().recv();
    EXPECT_NE(complaint_of([&] { none.reset(1ms); }), "");
    t.chan().recv();
  });
}

TEST(time, TestZeroTimerResetPanics) {
  with_procs(1, [] {
    timer none;
    EXPECT_EQ(complaint_of([&] { none.reset(1ms); }), "time: Reset called on uninitialized Timer");
    timer t(1h), moved(std::move(t));
    EXPECT_NE(complaint_of([&] { t.reset(1ms); }), "");
    EXPECT_TRUE(moved.reset(1ms));
  });
}

TEST(time, TestZeroTimerStopPanics) {
  with_procs(1, [] {
    timer none;
    EXPECT_EQ(complaint_of([&] { none.stop(); }), "time: Stop called on uninitialized Timer");
  });
}

TEST(time, TestOverflowPeriodRuntimeTimer) {
  with_procs(2, [] {
    constexpr auto longest_period = std::numeric_limits<std::int64_t>::max();
    auto c = weft::detail::make_timer_channel(weft::detail::now_ns(), longest_period);
    EXPECT_TRUE(c.recv());
    sleep_for(5ms);
    EXPECT_FALSE(c.try_recv().has_value());
    ticker longest(std::chrono::hours::max());
    EXPECT_FALSE(longest.chan().try_recv().has_value());
  });
}

TEST(time, TestZeroTimer) {
  with_procs(2, [] {
    const int n = scaled(500'000);
    const auto in_time = [](clock::time_point start) { EXPECT_LT(clock::now() - start, 2s); };
    for (int i = 0; i < n; ++i) {
      const auto start = clock::now();
      timer(0s).chan().recv();
      in_time(start);
    }
    timer t(0s);
    for (int i = 0; i < n; ++i) {
      const auto start = clock::now();
      t.reset(0s);
      t.chan().recv();
      in_time(start);
    }
    auto ran = weft::make_chan<bool>();
    for (int i = 0; i < n / 10; ++i) {     // these do go through a heap
      const auto start = clock::now();
      after(0s, [&] { ran.send(true); });
      ran.recv();
      in_time(start);
    }
  });
}

TEST(time, TestTimerModifiedEarlier) {
  with_procs(2, [] {
    for (int i = 0; i < 1000; ++i) {
      timer t(1h);
      for (int j = 0; j < 10; ++j) t.reset(-1h);
      timer deadline(10s);
      const auto start = clock::now();
      ASSERT_EQ(first_of(t.chan(), deadline.chan()), 0u);
      EXPECT_LT(clock::now() - start, 8s);
    }
  });
}

TEST(time, TestAdjustTimers) {
  with_procs(2, [] {
    std::mt19937 random(7);
    std::vector<timer> timers(100);
    std::vector<int> states(timers.size());
    std::vector<std::size_t> active(timers.size());
    for (std::size_t i = 0; i < active.size(); ++i) active[i] = i;
    const auto recv_soon = [](timer& t) {
      const auto start = clock::now();
      t.chan().recv();
      EXPECT_LT(clock::now() - start, 750ms);
    };
    while (!active.empty()) {
      const std::size_t pick = random() % active.size(), i = active[pick];
      timer& t = timers[i];
      switch (states[i]++) {
        case 0: t = timer(0s); break;
        case 1: recv_soon(t); break;                                    // idle now
        case 2: EXPECT_FALSE(t.reset(1min)); break;                     // long ones that are stopped again
        case 3: EXPECT_TRUE(t.stop()); break;
        case 4: EXPECT_FALSE(t.reset(3min)); break;
        case 5: EXPECT_TRUE(t.stop()); break;
        case 6: EXPECT_FALSE(t.reset(2min)); break;
        case 7: EXPECT_TRUE(t.stop()); break;
        case 8: EXPECT_FALSE(t.reset(0s)); break;                       // a short one
        case 9: recv_soon(t); break;
        case 10: EXPECT_FALSE(t.reset(1min)); break;                    // long, shorter, longer, short
        case 11: EXPECT_TRUE(t.reset(10s)); break;
        case 12: EXPECT_TRUE(t.reset(5min)); break;
        case 13: EXPECT_TRUE(t.reset(1ms)); break;
        default:
          recv_soon(t);
          active.erase(active.begin() + static_cast<std::ptrdiff_t>(pick));
      }
    }
  });
}

// A goroutine waits for a 1 ms timer while another stops or resets it: exactly one of the two has the event.
template <class F>
void race_with_expiry(F intervene) {
  for_each_procs([&](int) {
    handles hs;
    for (int i = 0; i < scaled(1000); ++i)
      hs.push_back(spawn([&] {
        timer t(1ms);
        auto intervened = weft::make_chan<bool>();
        auto waiter = spawn([&] {
          return first_of<bool>(t.chan(), intervened) == 0;
        });
        sleep_for(1ms);
        const bool prevented = intervene(t);
        intervened.close();
        EXPECT_NE(waiter.join(), prevented);
        EXPECT_FALSE(has_value(t));
      }));
    join_all(hs);
  });
}

TEST(time, TestStopResult) {
  race_with_expiry([](timer& t) { return t.stop(); });
}

TEST(time, TestResetResult) {
  race_with_expiry([](timer& t) { return t.reset(1h); });
}

template <class Wait>
void many_wait(Wait wait) {
  for_each_procs([&](int procs) {
    handles hs;
    const auto until = clock::now() + 100ms;
    for (int i = 0; i < procs * 4; ++i)
      hs.push_back(spawn([&] {
        while (clock::now() < until) wait();
      }));
    join_all(hs);
  });
}

TEST(time, TestMultiWakeupTicker) {
  ticker t(1us);
  many_wait([&] { first_of(t.chan(), after(1ms)); });
}

TEST(time, TestMultiWakeupTimer) {
  timer t(1ns);
  many_wait([&] {
    first_of(t.chan(), after(100us));
    t.reset(1ns);
  });
}

TEST(time, TestLongAdjustTimers) {
  with_procs(1, [] {
    // Sleeps that are long over pile up while nobody looks at the heap: they must not make new timers slow.
    handles sleepers;
    for (int i = 0; i < 5000; ++i) sleepers.push_back(spawn([] { sleep_for(1ns); }));
    weft::this_goroutine::yield();
    const auto start = clock::now();
    for (int i = 0; i < scaled(1'000'000); ++i) {
      timer t(1h, [] {});
      t.stop();
    }
    EXPECT_LT(clock::now() - start, 60s);
    join_all(sleepers);
  });
}

}  // namespace
