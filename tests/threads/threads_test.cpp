// threads_test.cpp — how many threads a world takes; in a process of its own, because they stay for the next.
#include <chrono>

#include "sched/sched.hpp"
#include "support/weft_test.hpp"
#include "weft/go.hpp"
#include "weft/this_goroutine.hpp"
#include "weft/wait_group.hpp"

namespace rt = weft::rt;
using namespace std::chrono_literals;

namespace {

std::uint32_t machines() {
  rt::inside in;
  rt::locked hold(rt::sched.lock);
  return rt::sched.machine_count + rt::sched.threads_coming;
}

// Ps go idle and come back all the time; the main goroutine never keeps its thread for a slice.
void sleep_and_wake(int goroutines, int times) {
  weft::wait_group all;
  for (int i = 0; i < goroutines; ++i) {
    all.add(1);
    weft::go([&all, i, times] {
      for (int k = 0; k < times; ++k)
        weft::this_goroutine::sleep_for(std::chrono::microseconds(10 + (i * 7 + k * 13) % 200));
      all.done();
    });
    weft::this_goroutine::yield();
  }
  all.wait();
}

}  // namespace

// Each P that went idle could call for a thread, while its own M was on the way to sleep. Two more are
// allowed: a slow machine may end slices within go() and done(), where a goroutine keeps its thread.
TEST(threads, NoMoreThanPs) {
  for (int procs : {1, 2, 4}) {
    weft::run({.maxprocs = procs}, [procs] {
      sleep_and_wake(64, weft_test::scaled(1000, 100));
      EXPECT_LE(machines(), static_cast<std::uint32_t>(procs) + 2);
    });
  }
}
