// time_chan_test.cpp — what a timer's channel shows to its users: second half of Go's time/sleep_test.go.
#include <chrono>
#include <cstddef>
#include <fstream>

#include "weft/chan.hpp"
#include "weft/go.hpp"
#include "weft/join_handle.hpp"
#include "weft/select.hpp"
#include "weft/timer.hpp"
#include "weft_test.hpp"

namespace {

using namespace std::chrono_literals;
using clock = std::chrono::steady_clock;
using duration = std::chrono::nanoseconds;
using weft::after;
using weft::spawn;
using weft::ticker;
using weft::timer;
using weft::this_goroutine::sleep_for;
using weft_test::for_each_procs;
using weft_test::scaled;
using weft_test::with_procs;

// `attempt(unit)` with more and more time until it is true: what noise can break, none of the code's.
template <class F>
void try_with_more_time(duration unit, F attempt) {
  for (int i = 0; i < 5; ++i, unit *= 2)
    if (attempt(unit)) return;
  ADD_FAILURE() << "failed with every unit of time up to " << unit.count() << " ns";
}

constexpr auto sched = 5ms;              // enough for anything that is to happen at once
constexpr int tries = 400;

template <class Timed>
class channel_checks {
 public:
  explicit channel_checks(Timed& t) : t_(t), c_(t.chan()) {}

  void no_tick(const char* what) const {
    EXPECT_FALSE(c_.try_recv().has_value()) << what;
    sleep_for(sched);
    EXPECT_FALSE(c_.try_recv().has_value()) << what << ", later";
    unbuffered();
  }
  void tick(const char* what) const {
    for (int i = 0; i < tries; ++i) {
      if (c_.try_recv().has_value()) return;
      sleep_for(sched);
    }
    ADD_FAILURE() << "no tick: " << what;
  }
  void unbuffered() const {
    EXPECT_EQ(c_.size(), 0u);
    EXPECT_EQ(c_.capacity(), 0u);
  }
  // A goroutine that waits for one tick.
  auto wait_for_tick() const { return spawn([c = c_] { c.recv(); }); }

 private:
  Timed& t_;
  weft::recv_chan<clock::time_point> c_;
};

template <class Timed>
void check_channel(Timed& t) {
  channel_checks<Timed> check(t);
  check.unbuffered();

  t.stop();
  check.no_tick("stopped");
  t.reset(10000s);
  check.no_tick("far away");

  t.reset(1ns);
  check.tick("due");
  t.stop();
  check.no_tick("stopped after a tick");

  t.reset(1ns);
  sleep_for(sched);
  check.unbuffered();                      // a tick is pending
  t.stop();
  check.no_tick("stop throws the pending tick away");
  t.reset(1ns);
  sleep_for(sched);
  t.reset(10000s);
  check.no_tick("reset throws the pending tick away");

  // A goroutine waits.
  auto one = check.wait_for_tick();
  sleep_for(sched);
  t.reset(1ns);
  one.join();
  t.stop();

  // It waits for a tick that is there, for one that comes, and while the timer is stopped and started.
  t.reset(10000s);
  auto two = check.wait_for_tick();
  EXPECT_EQ(two.join_for(sched).error_or({}), weft::errc::timed_out);
  t.stop();
  EXPECT_EQ(two.join_for(sched).error_or({}), weft::errc::timed_out);
  t.reset(10000s);
  EXPECT_EQ(two.join_for(sched).error_or({}), weft::errc::timed_out);
  t.reset(1ns);
  two.join();
  t.stop();

  // Two wait: a timer wakes one at each expiry.
  auto three = check.wait_for_tick(), four = check.wait_for_tick();
  sleep_for(sched);
  t.reset(1ns);
  sleep_for(sched);
  t.reset(1ns);
  three.join();
  t.reset(1ns);
  four.join();
  t.stop();
  check.no_tick("stopped after the waiters");
}

TEST(time, TestChan_Timer) {
  for_each_procs([] {
    timer t(10000s);
    check_channel(t);
    channel_checks<timer> check(t);

    // What stop and reset say.
    EXPECT_FALSE(t.stop());
    EXPECT_FALSE(t.reset(10000s));
    EXPECT_TRUE(t.reset(10000s));
    EXPECT_TRUE(t.stop());
    EXPECT_FALSE(t.stop());
    t.reset(1ns);
    sleep_for(sched);
    EXPECT_TRUE(t.stop()) << "it threw a value away";
    t.reset(1ns);
    sleep_for(sched);
    EXPECT_TRUE(t.reset(1ns)) << "it threw a value away";
    check.tick("after reset");
    EXPECT_FALSE(t.reset(1ns)) << "the value had been received";
    check.tick("after reset");
    EXPECT_FALSE(t.stop());
    EXPECT_FALSE(t.reset(10000s));
    EXPECT_TRUE(t.stop());
  });
}

TEST(time, TestChan_Ticker) {
  for_each_procs([] {
    ticker t(10000s);
    check_channel(t);
    channel_checks<ticker> check(t);
    t.reset(1ms);
    check.tick("first");
    check.tick("second");
    check.tick("third");
    t.stop();
    check.no_tick("stopped");
  });
}

TEST(time, TestAfterTimes) {
  with_procs(2, [] {
    try_with_more_time(10ms, [](duration unit) {
      const auto start = clock::now();
      auto c = after(unit);
      sleep_for(2 * unit);
      const auto due = *c.recv() - start;
      EXPECT_GE(due, unit);
      return due < unit + unit / 2;       // unless we lost time between the two lines
    });
  });
}

TEST(time, TestTickTimes) {
  with_procs(2, [] {
    try_with_more_time(10ms, [](duration unit) {
      const auto start = clock::now();
      auto c = weft::tick(unit);
      sleep_for(5 * unit / 2);
      const auto due = *c.recv() - start;
      EXPECT_GE(due, unit);
      return due < unit + unit / 2;
    });
  });
}

std::size_t resident_pages() {
  std::ifstream statm("/proc/self/statm");
  std::size_t all = 0, resident = 0;
  statm >> all >> resident;
  return resident;
}

TEST(time, TestTimerGC) {
  with_procs(2, [] {
    auto ready = weft::make_chan<int>(1);
    const auto turn = [&] {
      ready.send(1);
      EXPECT_EQ(weft::select(weft::on_recv(ready, weft::nothing),
                             weft::on_recv(after(1h), weft::nothing)), 0u);
    };
    for (int i = 0; i < 1000; ++i) turn();
    const std::size_t before = resident_pages();
    for (int i = 0; i < scaled(300'000); ++i) turn();
    for (int i = 0; i < scaled(100'000); ++i) {
      timer stopped(1h), dropped(1h), with_function(1h, [] {});
      ticker t(1h);
      stopped.stop();
    }
    if (weft_test::slowdown == 1) {
      EXPECT_LT(resident_pages(), before + 4096);
    }
  });
}

}  // namespace
