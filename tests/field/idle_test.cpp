// idle_test.cpp — what doing nothing costs: field cases of idle CPU burn.
#include <atomic>

#include "field.hpp"
#include "weft/chan.hpp"
#include "weft/go.hpp"
#include "weft/this_goroutine.hpp"
#include "weft/timer.hpp"

using namespace field;
using weft::this_goroutine::sleep_for;

// A thousand goroutines wait on channels and nothing happens.
TEST(field, F134) {
  with_procs(8, [] {
    constexpr int waiters = 1000;
    auto never = weft::make_chan<int>();
    std::atomic<int> started{0};
    for (int i = 0; i < waiters; ++i)
      weft::go([never, &started] {
        ++started;
        never.recv();
      });
    while (started < waiters) sleep_for(10ms);   // ThreadSanitizer takes a second for that
    sleep_for(500ms);   // idle threads have given up looking for work
    const meter m;
    sleep_for(3s);
    EXPECT_LE(m.cpu_seconds(), 0.005 * m.seconds() * slowdown);
    EXPECT_LE(m.switches_per_second(), 100);
  });
}

// Ten tickers of 100 ms: a hundred events a second, each some wake-ups of threads.
TEST(field, F136) {
  with_procs(8, [] {
    std::atomic<int> ticks{0};
    for (int i = 0; i < 10; ++i)
      weft::go([&ticks, every = weft::ticker(100ms)] {
        while (every.chan().recv()) ticks.fetch_add(1);
      });
    sleep_for(500ms);
    const meter m;
    ticks = 0;
    sleep_for(4s);
    EXPECT_LE(m.cpu_seconds(), 0.02 * m.seconds() * slowdown);
    EXPECT_LE(m.switches_per_second(), 1000);
    EXPECT_GE(ticks.load(), 200);   // of 400
  });
}

// One goroutine yields in a loop: the other processors must not be woken to find nothing. The loop itself
// uses one core at most; what is used beyond that is the others'.
TEST(field, F138) {
  with_procs(8, [] {
    sleep_for(100ms);
    const meter m;
    for (const auto end = clock::now() + 2s; clock::now() < end;) weft::this_goroutine::yield();
    EXPECT_LE(m.cpu_seconds(), 1.2 * m.seconds());
    EXPECT_LE(m.switches_per_second(), 1000);
  });
}
