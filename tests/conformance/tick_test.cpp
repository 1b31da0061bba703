// tick_test.cpp — Go's time/tick_test.go restated.
#include <chrono>
#include <stdexcept>
#include <string>

#include "weft/chan.hpp"
#include "weft/select.hpp"
#include "weft/timer.hpp"
#include "weft_test.hpp"

namespace {

using namespace std::chrono_literals;
using clock = std::chrono::steady_clock;
using weft::ticker;
using weft::this_goroutine::sleep_for;
using weft_test::for_each_procs;

TEST(time, TestTicker) {
  weft_test::with_procs(2, [] {
    constexpr int count = 10;
    bool good = false;
    for (auto delta = 10ms; !good && delta <= 160ms; delta *= 2) {
      ticker t(delta);
      const auto start = clock::now();
      for (int i = 0; i < count; ++i) t.chan().recv();
      t.reset(2 * delta);
      for (int i = 0; i < count; ++i) t.chan().recv();
      t.stop();
      const auto took = clock::now() - start;
      const auto target = 3 * count * delta;
      good = took > target * 7 / 10 && took < target * 13 / 10;
      sleep_for(2 * delta);
      EXPECT_FALSE(t.chan().try_recv().has_value()) << "ticker did not shut down";
    }
    EXPECT_TRUE(good) << "no rate within 30 %";
  });
}

TEST(time, TestTeardown) {
  for_each_procs([] {
    for (int i = 0; i < 3; ++i) {
      ticker t(10ms);
      t.chan().recv();
      t.stop();
    }
  });
}

TEST(time, TestTick) {
  weft_test::with_procs(1, [] {
    EXPECT_FALSE(weft::tick(-1s));
    EXPECT_FALSE(weft::tick(0s));
    EXPECT_TRUE(weft::tick(1ms).recv());
  });
}

template <class F>
std::string complaint_of(F f) {
  try {
    f();
  } catch (const std::invalid_argument& e) {
    return e.what();
  }
  return "";
}

TEST(time, TestNewTickerLtZeroDuration) {
  EXPECT_EQ(complaint_of([] { ticker t(-1s); }), "non-positive interval for NewTicker");
  EXPECT_EQ(complaint_of([] { ticker t(0s); }), "non-positive interval for NewTicker");
}

TEST(time, TestTickerResetLtZeroDuration) {
  ticker t(1h);
  EXPECT_EQ(complaint_of([&] { t.reset(0s); }), "non-positive interval for Ticker.Reset");
  EXPECT_EQ(complaint_of([&] { t.reset(-1s); }), "non-positive interval for Ticker.Reset");
}

}  // namespace
