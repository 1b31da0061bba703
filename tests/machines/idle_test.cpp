// idle_test.cpp — threads that nobody needs any more end; in a process of its own, for the number of threads.
#include <dirent.h>
#include <time.h>

#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#include "sched/sched.hpp"
#include "sched/threads.hpp"
#include "support/weft_test.hpp"
#include "weft/chan.hpp"
#include "weft/go.hpp"
#include "weft/this_goroutine.hpp"
#include "weft/wait_group.hpp"

namespace rt = weft::rt;
using namespace std::chrono_literals;
using weft_test::for_each_procs;
using weft_test::scaled;
using weft_test::watchdog;

namespace {

int threads_of_process() {
  int n = 0;
  DIR* all = opendir("/proc/self/task");
  while (const dirent* one = readdir(all)) n += one->d_name[0] != '.';
  closedir(all);
  return n;
}

void block_thread(std::chrono::microseconds time) {
  const timespec t{0, std::chrono::nanoseconds(time).count()};
  nanosleep(&t, nullptr);
}

// n goroutines that are blocked at the same time.
void block_together(int n) {
  weft::wait_group all;
  std::atomic<int> here{0};
  for (int i = 0; i < n; ++i) {
    all.add(1);
    weft::go([&] {
      here.fetch_add(1);
      while (here.load() < n) block_thread(500us);
      all.done();
    });
  }
  all.wait();
}

template <class F>
void wait_until(F&& f) {   // a watchdog ends a test that waits in vain
  while (!f()) std::this_thread::sleep_for(1ms);
}

}  // namespace

// Also while nothing at all happens: sysmon sleeps, but for this.
TEST(machines, IdleOnesEnd) {
  watchdog dog("IdleOnesEnd");
  weft::run({.maxprocs = 2}, [] {
    block_together(40);
    EXPECT_GE(threads_of_process(), 40);
    auto fewer = weft::make_chan<bool>();
    std::thread watch([&] {
      // Two Ps, two in reserve, the one in the poller; template, sysmon, helper; main, this one, TSan's.
      wait_until([&] { return threads_of_process() <= 2 + 2 + 1 + 3 + 3; });
      fewer.send(true);
    });
    fewer.recv();
    watch.join();
    block_together(20);                              // and they come again
  });
}

// The same many times while the Ps are handed about: an M told to end was in nobody's hands, its record
// serves the next one, and no work is left lying.
TEST(machines, TheyComeAndGoUnderWork) {
  for_each_procs([](int procs) {
    std::atomic<bool> stop{false};
    std::atomic<int> ended{0};
    std::thread impatient([&] {
      for (std::int64_t now = 1; !stop.load(); now += 3'000'000'000) {
        rt::inside in;
        std::size_t idle;
        {
          rt::locked hold(rt::sched.lock);
          idle = rt::sched.idle_ms.size();
          rt::sched.idle_ms_least = idle;            // as if five seconds had passed
        }
        rt::end_idle_machines(rt::os::nanotime() + now);
        rt::locked hold(rt::sched.lock);
        if (rt::sched.idle_ms.size() < idle) ended.fetch_add(1);
      }
    });
    weft::wait_group all;
    for (int i = 0; i < 8; ++i) {
      all.add(1);
      weft::go([&, i] {
        for (int k = 0; k < scaled(60, 5); ++k) {
          if (i % 2 == 0)
            block_together(procs + 8);
          else
            weft::this_goroutine::sleep_for(std::chrono::microseconds(100 + k % 7 * 50));
        }
        all.done();
      });
    }
    all.wait();
    stop = true;
    impatient.join();
    EXPECT_GT(ended.load(), 0);
  });
}

TEST(machines, AThreadEndsWithItsLockedGoroutine) {
  for_each_procs([](int) {
    for (int round = 0; round < scaled(50, 10); ++round) {
      std::int32_t id = 0;
      weft::wait_group all;
      all.add(1);
      weft::go(weft::attrs{.locked = true}, [&] {
        id = rt::os::thread_id();
        all.done();
      });
      all.wait();
      EXPECT_NE(id, 0);
      wait_until([&] { return !rt::os::thread_exists(id); });
    }
  });
}

// Thousands of them, and never more than some at the same time.
TEST(machines, LockedGoroutinesMayComeAndGo) {
  watchdog dog("LockedGoroutinesMayComeAndGo");
  weft::run({.maxprocs = 2, .max_threads = 40}, [] {
    for (int i = 0; i < scaled(3000, 50); ++i) {
      weft::wait_group all;
      for (int k = 0; k < 4; ++k) {
        all.add(1);
        weft::go(weft::attrs{.locked = true}, [&] { all.done(); });
      }
      all.wait();
    }
  });
}
