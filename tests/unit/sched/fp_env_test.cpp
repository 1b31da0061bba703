// fp_env_test.cpp — a rounding mode stays with its goroutine, whoever switches to it: one that parks, one
// that ends, g0.
#include <cfenv>

#include "support/weft_test.hpp"
#include "weft/chan.hpp"
#include "weft/go.hpp"
#include "weft/this_goroutine.hpp"

namespace {

double third() {   // by the SSE unit, at run time
  volatile double one = 1, three = 3;
  return one / three;
}

const double nearest = third();

void expect_upward_after(void (*resume)(const weft::chan<int>&)) {
  weft_test::with_procs(1, [resume] {
    auto c = weft::make_chan<int>();
    auto done = weft::make_chan<bool>();
    weft::go({.fp_env = true}, [c, done] {
      std::fesetround(FE_UPWARD);
      for (int i = 0; i < 3; ++i) {
        c.recv();
        done.send(third() > nearest);
      }
    });
    for (int i = 0; i < 3; ++i) {
      weft::go([c, resume] { resume(c); });
      EXPECT_EQ(done.recv(), true) << i;
      EXPECT_EQ(third(), nearest) << "it came out of its goroutine";
    }
  });
}

}  // namespace

TEST(fp_env, AfterOneThatEnds) {
  expect_upward_after([](const weft::chan<int>& c) { c.send(1); });
}

TEST(fp_env, AfterOneThatParks) {
  expect_upward_after([](const weft::chan<int>& c) {
    c.send(1);
    weft::this_goroutine::yield();
  });
}

TEST(fp_env, AfterG0) {
  expect_upward_after([](const weft::chan<int>& c) {
    weft::this_goroutine::sleep_for(std::chrono::milliseconds(1));
    c.send(1);
    weft::this_goroutine::sleep_for(std::chrono::milliseconds(1));
  });
}
