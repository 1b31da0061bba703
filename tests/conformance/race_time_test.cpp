// race_time_test.cpp — the correct programs of Go's runtime/race/testdata time_test and sync_test that are
// about timers: plain variables that only a timer orders. They run in every build; ThreadSanitizer must
// report nothing.
//
//   what happens before a timer is made or reset happens before its function runs or its value is received
#include <chrono>
#include <functional>
#include <memory>

#include "support/weft_test.hpp"
#include "weft/chan.hpp"
#include "weft/go.hpp"
#include "weft/timer.hpp"

namespace {

using namespace std::chrono_literals;
using weft_test::for_each_procs;

template <class F>
void often(F body) {
  for_each_procs([&] {
    for (int i = 0; i < weft_test::scaled(50, 5); ++i) body();
  });
}

// A variable that three write in turn: before the timer, when it has expired, after being told.
struct relay {
  int v = 0;
  weft::chan<int> told = weft::make_chan<int>();
  void expired() {
    v = 2;
    told.send(0);
  }
  void end() {
    told.recv();
    v = 3;
  }
};

// Channel form: `alarm` was made or is started by start(); a goroutine waits for its value.
template <class Alarm, class Start>
void through_channel(const Alarm& alarm, Start start) {
  auto r = std::make_shared<relay>();
  weft::go([r, c = alarm.chan()] {
    c.recv();
    r->expired();
  });
  r->v = 1;
  start();
  r->end();
}

TEST(race_time, TestNoRaceAfterFunc) {
  often([] {
    relay r;
    r.v = 1;
    weft::timer t(1ns, [&] { r.expired(); });
    r.end();
  });
}

TEST(race_time, TestNoRaceAfterFuncReset) {
  often([] {
    relay r;
    weft::timer t(1h, [&] { r.expired(); });
    t.stop();
    r.v = 1;
    t.reset(1ns);
    r.end();
  });
}

TEST(race_time, TestNoRaceTimer) {
  often([] {
    auto r = std::make_shared<relay>();
    r->v = 1;
    weft::timer t(1ns);
    weft::go([r, c = t.chan()] {
      c.recv();
      r->expired();
    });
    r->end();
  });
}

TEST(race_time, TestNoRaceTimerReset) {
  often([] {
    weft::timer t(1h);
    t.stop();
    through_channel(t, [&] { t.reset(1ns); });
  });
}

TEST(race_time, TestNoRaceTicker) {
  often([] {
    auto r = std::make_shared<relay>();
    r->v = 1;
    weft::ticker t(1ns);
    weft::go([r, c = t.chan()] {
      c.recv();
      r->expired();
    });
    r->end();
  });
}

TEST(race_time, TestNoRaceTickerReset) {
  often([] {
    weft::ticker t(1h);
    t.stop();
    through_channel(t, [&] { t.reset(1ns); });
  });
}

TEST(race_time, TestNoRaceAfterFunc1) {   // a function that starts the next timer
  often([] {
    int left = 2;
    auto done = weft::make_chan<bool>();
    std::function<void()> f = [&] {
      if (--left >= 0)
        weft::after(0ns, f);
      else
        done.send(true);
    };
    weft::after(0ns, f);
    done.recv();
    EXPECT_EQ(left, -1);
  });
}

TEST(race_time, TestNoRaceAfterFunc2) {   // stopped, or it has run, or it runs on its own
  often([] {
    auto r = std::make_shared<relay>();
    weft::timer t(10ns, [r] { r->v = 1; });
    t.stop();
  });
}

TEST(race_time, TestNoRaceAfterFunc3) {   // told through a buffer
  often([] {
    int x = 0;
    auto c = weft::make_chan<bool>(1);
    weft::after(1ms, [&x, c] {
      x = 1;
      c.send(true);
    });
    c.recv();
    EXPECT_EQ(x, 1);
  });
}

}  // namespace
