// hooks_test.cpp — options.thread_start and thread_stop.
#include <atomic>
#include <chrono>
#include <thread>

#include "support/weft_test.hpp"
#include "weft/chan.hpp"
#include "weft/go.hpp"
#include "weft/runtime.hpp"
#include "weft/this_goroutine.hpp"
#include "weft/wait_group.hpp"

namespace {

using weft_test::watchdog;

struct counts {
  std::atomic<int> started{0}, stopped{0};
};
thread_local counts* started_by = nullptr;

void on_start(void* p) {
  EXPECT_EQ(started_by, nullptr);
  started_by = static_cast<counts*>(p);
  started_by->started.fetch_add(1);
}
void on_stop(void* p) {
  EXPECT_EQ(started_by, p);
  started_by->stopped.fetch_add(1);
}

// They end with their threads.
void locked_goroutines(int n, bool marked = true) {
  weft::wait_group all;
  for (int i = 0; i < n; ++i) {
    all.add(1);
    weft::go(weft::attrs{.locked = true}, [&all, marked] {
      EXPECT_TRUE(started_by != nullptr || !marked);
      all.done();
    });
  }
  all.wait();
}

void wait_for(const std::atomic<int>& n, int value) {
  while (n.load() < value) std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

}  // namespace

// Threads of a former run() are not started anew, and end with what they began with.
TEST(hooks, OnEachThread) {
  watchdog dog("OnEachThread");
  static counts first, second;                       // threads may outlive the test
  for (int procs : {1, 2, 4, 8}) {
    const weft::options how{
        .maxprocs = procs, .thread_start = on_start, .thread_stop = on_stop, .thread_arg = &first};
    weft::run(how, [] {
      const int before = first.stopped.load();
      locked_goroutines(20);
      wait_for(first.stopped, before + 20);
    });
  }
  EXPECT_GE(first.started.load(), first.stopped.load());
  weft::run({.maxprocs = 1, .thread_start = on_start, .thread_stop = on_stop, .thread_arg = &second}, [] {
    locked_goroutines(40);
    while (first.stopped.load() + second.stopped.load() < 80 + 40)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    EXPECT_GT(second.started.load(), 0);
  });
}

// To Weft they are plain threads, with all that may do.
TEST(hooks, MayUseWeft) {
  watchdog dog("MayUseWeft");
  static weft::chan<int> from_hooks = weft::make_chan<int>(1000);
  auto hook = [](void*) {
    if (weft::num_goroutine() > 0) weft::go([] { from_hooks.send(1); });
    from_hooks.send(0);
  };
  weft::run({.maxprocs = 2, .thread_start = hook, .thread_stop = hook}, [] {
    for (int i = 0; i < 30; ++i) locked_goroutines(4, false);
    int zeros = 0, ones = 0;
    while (zeros < 200 || ones < 200) (from_hooks.recv() == 0 ? zeros : ones) += 1;
  });
}
