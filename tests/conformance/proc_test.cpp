// proc_test.cpp — Go's runtime/proc_test.go restated, less what needs signals, system calls or sockets.
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "weft/chan.hpp"
#include "weft/detail/introspect.hpp"
#include "weft/join_handle.hpp"
#include "weft/select.hpp"
#include "weft/timer.hpp"
#include "weft/wait_group.hpp"
#include "weft_test.hpp"

using namespace std::chrono_literals;
using weft_test::for_each_procs;
using weft_test::scaled;
using weft_test::with_procs;

namespace {

long thread_id() { return syscall(SYS_gettid); }

// Still inside the world: the number of live tasks with this id.
bool thread_exists(long tid) { return syscall(SYS_tgkill, getpid(), tid, 0) == 0; }

void stop() { weft::stop_the_world([](void*) {}, nullptr); }

// A goroutine that starts its successor and ends, until told to stop.
void respawn(std::atomic<bool>* stop, std::atomic<bool>* stopped) {
  if (*stop)
    *stopped = true;
  else
    weft::go(respawn, stop, stopped);
}

}  // namespace

TEST(proc_test, TestStopTheWorldDeadlock) {
  with_procs(3, [] {
    std::atomic<bool> stop_it{false}, stopped{false};
    weft::go(respawn, &stop_it, &stopped);
    weft::wait_group both;
    const int rounds = scaled(1000, 50);
    both.go([=] { for (int i = 0; i < rounds; ++i) stop(); });
    both.go([=] { for (int i = 0; i < rounds; ++i) weft::set_maxprocs(3); });
    both.go([=] { for (int i = 0; i < rounds / 4; ++i) weft::set_maxprocs(1 + i % 4); });
    both.wait();
    stop_it = true;
    while (!stopped) weft::this_goroutine::yield();
  });
}

namespace {
void yield_progress(bool locked) {
  for_each_procs([=] {
    auto c = weft::make_chan<bool>();
    auto cack = weft::make_chan<bool>();
    weft::go({.locked = locked}, [=] {
      for (;;) {
        if (c.try_recv()) {
          cack.send(true);
          return;
        }
        weft::this_goroutine::yield();
      }
    });
    weft::this_goroutine::sleep_for(10ms);
    c.send(true);
    EXPECT_TRUE(cack.recv().has_value());
  });
}
}  // namespace

TEST(proc_test, TestYieldProgress) { yield_progress(false); }
TEST(proc_test, TestYieldLockedProgress) { yield_progress(true); }

TEST(proc_test, TestYieldLocked) {
  for_each_procs([] {
    auto c = weft::make_chan<bool>();
    weft::go({.locked = true}, [=] {
      for (int i = 0; i < 10; ++i) {
        weft::this_goroutine::yield();
        weft::this_goroutine::sleep_for(1ms);
      }
      c.send(true);   // ends locked
    });
    EXPECT_TRUE(c.recv().has_value());
  });
}

namespace {
// P goroutines that spin until each has seen its turn: only all at once can they finish.
void spin_in_turn(int procs) {
  auto done = weft::make_chan<bool>();
  std::atomic<unsigned> x{0};
  for (int p = 0; p < procs; ++p) {
    weft::go([&x, p, procs, done] {
      for (int i = 0; i < 3; ++i) {
        const unsigned expected = static_cast<unsigned>(procs * i + p);
        while (x.load() != expected) sched_yield();   // the thread's: more Ps than CPUs
        x.store(expected + 1);
      }
      done.send(true);
    });
  }
  for (int p = 0; p < procs; ++p) done.recv();
}
}  // namespace

TEST(proc_test, TestGoroutineParallelism) {
  for (int procs : {2, 4, 8})
    with_procs(procs, [=] {
      for (int i = 0; i < scaled(10, 2); ++i) spin_in_turn(procs);
    });
}

TEST(proc_test, TestGoroutineParallelism2) {
  for (bool load : {false, true})
    with_procs(4, [=] {
      if (load) {   // a phase of many short goroutines first
        weft::wait_group all;
        for (int i = 0; i < 1000; ++i) all.go([] { weft::this_goroutine::yield(); });
        all.wait();
      }
      auto done = weft::make_chan<bool>();
      std::atomic<unsigned> x{0};
      weft::go([&x, done] {   // created by a goroutine, not by main
        for (int p = 0; p < 4; ++p)
          weft::go([&x, p, done] {
            for (unsigned i = 0; i < 3; ++i) {
              const unsigned expected = 4 * i + static_cast<unsigned>(p);
              while (x.load() != expected) sched_yield();
              x.store(expected + 1);
            }
            done.send(true);
          });
      });
      for (int p = 0; p < 4; ++p) done.recv();
    });
}

TEST(proc_test, TestBlockLocked) {
  for_each_procs([] {
    constexpr int n = 10;
    auto c = weft::make_chan<bool>();
    weft::go({.locked = true}, [=] { for (int i = 0; i < n; ++i) c.send(true); });
    for (int i = 0; i < n; ++i) EXPECT_TRUE(c.recv().has_value());
  });
}

TEST(proc_test, TestTimerFairness) {
  for_each_procs([] {
    auto done = weft::make_chan<int>();
    auto c = weft::make_chan<bool>();
    for (int i = 0; i < 2; ++i)
      weft::go([=] {
        for (;;)
          if (weft::select(weft::on_send(c, true, weft::nothing), weft::on_recv(done, weft::nothing)) == 1)
            return;
      });
    auto timer = weft::after(20ms);
    for (;;)
      if (weft::select(weft::on_recv(c, weft::nothing), weft::on_recv(timer, weft::nothing)) == 1) break;
    done.close();
  });
}

// Two goroutines that call the runtime in their loops make progress, also on one P (part: without calls it
// takes signals).
TEST(proc_test, TestPreemption) {
  for_each_procs([] {
    auto c = weft::make_chan<bool>();
    std::atomic<unsigned> x{0};
    const unsigned n = static_cast<unsigned>(scaled(50, 5));
    for (unsigned g = 0; g < 2; ++g)
      weft::go([=, &x] {
        for (unsigned i = 0; i < n; ++i) {
          while (x.load() % 2 != g) weft::detail::processor_id();   // enters, never parks: the P is handed on
          x.fetch_add(1);
        }
        c.send(true);
      });
    c.recv();
    c.recv();
  });
}

// As TestPreemption, and the world is stopped meanwhile.
TEST(proc_test, TestPreemptionGC) {
  with_procs(5, [] {
    std::atomic<bool> stop_it{false};
    weft::wait_group all;
    for (int i = 0; i < 4; ++i) all.go([&] { while (!stop_it) sched_yield(); });
    for (int i = 0; i < scaled(10, 3); ++i) {
      weft::this_goroutine::yield();
      stop();
    }
    stop_it = true;
    all.wait();
  });
}

TEST(proc_test, TestNumGoroutine) {
  for_each_procs([] {
    EXPECT_EQ(weft::num_goroutine(), 1);
    auto hold = weft::make_chan<int>();
    weft::wait_group all;
    for (int i = 0; i < 100; ++i) all.go([=] { hold.recv(); });
    EXPECT_EQ(weft::num_goroutine(), 101);
    hold.close();
    all.wait();
    while (weft::num_goroutine() != 1) weft::this_goroutine::yield();  // done() comes a moment before the end
  });
}

TEST(proc_test, TestPingPongHog) {
  // On one P a heavy pair must not keep a light one from its share of slices: both get on within a factor 20.
  with_procs(1, [] {
    std::atomic<bool> stop_it{false};
    std::atomic<long> heavy_turns{0}, light_turns{0};
    weft::wait_group all;
    auto pair = [&](std::atomic<long>* turns, int work) {
      auto a = weft::make_chan<bool>(), b = weft::make_chan<bool>();
      auto side = [&stop_it, turns, work](weft::chan<bool> in, weft::chan<bool> out) {
        while (in.recv()) {
          volatile int i = 0;
          while (i < work) i = i + 1;
          turns->fetch_add(1);
          if (stop_it) break;
          out.send(true);
        }
        out.close();
      };
      all.go([=] { side(a, b); });
      all.go([=] { side(b, a); });
      a.send(true);
    };
    constexpr int heavy_work = 2000, light_work = 50;
    pair(&heavy_turns, heavy_work);
    pair(&light_turns, light_work);
    weft::this_goroutine::sleep_for(std::chrono::milliseconds(300));
    stop_it = true;
    // A switch is worth some 50 turns.
    const long h = heavy_turns * heavy_work, l = light_turns * (light_work + 50);
    constexpr int most = weft_test::under_tsan ? 200 : 20;   // there a switch is worth many more turns
    EXPECT_GT(h * most, l);
    EXPECT_GT(l * most, h);
    all.wait();
  });
}

TEST(proc_test, TestLockOSThreadNesting) {
  for_each_procs([] {
    weft::spawn([] {
      const long tid = thread_id();
      {
        weft::thread_lock one;
        {
          weft::thread_lock two;
          weft::this_goroutine::yield();
          EXPECT_EQ(thread_id(), tid);
        }
        for (int i = 0; i < 100; ++i) {   // one level is left: still bound
          weft::this_goroutine::yield();
          EXPECT_EQ(thread_id(), tid);
        }
      }
    }).join();
  });
}

TEST(proc_test, TestLockOSThreadExit) {
  with_procs(2, [] {
    std::atomic<long> tid{0};
    weft::spawn(weft::attrs{.locked = true}, [&] { tid = thread_id(); }).join();
    const auto deadline = std::chrono::steady_clock::now() + 10s;
    while (thread_exists(tid) && std::chrono::steady_clock::now() < deadline)
      weft::this_goroutine::sleep_for(1ms);
    EXPECT_FALSE(thread_exists(tid));
  });
  // While one is locked, nothing else runs on its thread.
  with_procs(2, [] {
    weft::thread_lock pin;
    const long mine = thread_id();
    weft::wait_group all;
    for (int i = 0; i < 100; ++i)
      all.go([=] {
        EXPECT_NE(thread_id(), mine);
        weft::this_goroutine::yield();
      });
    all.wait();
    EXPECT_EQ(thread_id(), mine);
  });
}

TEST(proc_test, TestLockOSThreadAvoidsStatePropagation) {
  with_procs(4, [] {
    char before[4096];
    ASSERT_NE(getcwd(before, sizeof before), nullptr);
    bool changed = false;
    weft::spawn(weft::attrs{.locked = true}, [&] {
      if (unshare(CLONE_FS) != 0) return;                   // not allowed here
      changed = chdir("/") == 0;
    }).join();
    if (!changed) GTEST_SKIP() << "unshare(CLONE_FS) is refused here, or the goroutine got the main thread";
    for (int i = 0; i < 50; ++i)
      weft::spawn(weft::attrs{.locked = true}, [&] {
        char now[4096];
        EXPECT_STREQ(getcwd(now, sizeof now), before);
      }).join();
  });
}

TEST(proc_test, TestLockOSThreadTemplateThreadRace) {
  for (int i = 0; i < scaled(20, 4); ++i)
    with_procs(4, [] {
      weft::wait_group all;
      for (int k = 0; k < 2; ++k) all.go([] { weft::thread_lock pin; weft::this_goroutine::yield(); });
      all.go([] { stop(); });
      all.wait();
    });
}

TEST(proc_test, TestGetgThreadSwitch) {
  for_each_procs([] {
    weft::wait_group all;
    for (int g = 0; g < 20; ++g)
      all.go([] {
        const std::uint64_t id = weft::this_goroutine::id();
        for (int i = 0; i < scaled(2000, 100); ++i) {
          weft::this_goroutine::yield();
          ASSERT_EQ(weft::this_goroutine::id(), id);
        }
      });
    all.wait();
  });
}

TEST(proc_test, TestBigGOMAXPROCS) {
  with_procs(1024, [] {
    EXPECT_EQ(weft::maxprocs(), 1024);
    weft::wait_group all;
    for (int i = 0; i < 100; ++i) all.go([] { weft::this_goroutine::yield(); });
    all.wait();
  });
}

TEST(proc_test, TestMexitSTW) {
  with_procs(4, [] {
    weft::wait_group all;
    const int rounds = scaled(40, 5);
    all.go([=] { for (int i = 0; i < rounds; ++i) weft::spawn(weft::attrs{.locked = true}, [] {}).join(); });
    all.go([=] { for (int i = 0; i < rounds; ++i) stop(); });
    all.wait();
  });
}

// Across a stop of the world most running goroutines keep their thread (Go: at most a quarter of the tries
// may fail).
TEST(proc_test, TestTraceSTW) {
  if (std::thread::hardware_concurrency() < 4) GTEST_SKIP() << "needs 4 CPUs";
  with_procs(4, [] {
    int moved = 0, tries = 0;
    for (int i = 0; i < 50; ++i) {
      std::atomic<bool> stop_it{false};
      weft::wait_group all;
      for (int k = 0; k < 2; ++k)
        all.go([&] {
          const long tid = thread_id();
          while (!stop_it) sched_yield();
          if (thread_id() != tid) ++moved;
          ++tries;
        });
      stop();
      stop_it = true;
      all.wait();
    }
    EXPECT_LE(moved * 4, tries);
  });
}
