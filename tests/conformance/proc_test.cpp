// proc_test.cpp — Go's runtime/proc_test.go restated, less what needs sockets.
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstring>
#include <thread>

#include "child.hpp"
#include "weft/blocking.hpp"
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

TEST(proc_test, TestTimerFairness2) {
  for_each_procs([] {
    auto done = weft::make_chan<int>();
    auto c = weft::make_chan<bool>();
    for (int i = 0; i < 2; ++i)
      weft::go([=] {
        auto timer = weft::after(20ms);
        for (;;) {
          char nothing_read;
          [[maybe_unused]] const ssize_t n = read(0, &nothing_read, 0);
          if (weft::select(weft::on_send(c, false, weft::nothing), weft::on_recv(c, weft::nothing),
                           weft::on_recv(timer, weft::nothing)) == 2) {
            done.send(1);
            return;
          }
        }
      });
    done.recv();
    done.recv();
  });
}

namespace {
// Two goroutines that spin on each other's turn: on one P each needs the other's place n times.
template <class F>
void spin_in_turns(unsigned n, F while_waiting) {
  for_each_procs([=] {
    auto c = weft::make_chan<bool>();
    std::atomic<unsigned> x{0};
    for (unsigned g = 0; g < 2; ++g)
      weft::go([=, &x] {
        for (unsigned i = 0; i < n; ++i) {
          while (x.load(std::memory_order_relaxed) % 2 != g) while_waiting();
          x.fetch_add(1);
        }
        c.send(true);
      });
    c.recv();
    c.recv();
    EXPECT_EQ(x, 2 * n);
  });
}
}  // namespace

TEST(proc_test, TestPreemption) {
  // Enters and never parks, so the P is handed on at the way out; and no call at all.
  spin_in_turns(static_cast<unsigned>(scaled(50, 5)), [] { weft::detail::processor_id(); });
  spin_in_turns(static_cast<unsigned>(scaled(20, 3)), [] {});
}

// The loops never end, so they have a process of their own.
TEST(proc_test, TestAsyncPreempt) {
  for (const char* how : {"", "slice=200", "asyncpreemptoff=1"}) {   // off: the processor is claimed instead
    weft_test::child_result r =
        weft_test::run_program("preempt", {"async_preempt"}, {std::string("WEFTDEBUG=") + how});
    EXPECT_EQ(r.exit_status, 0) << how << '\n' << r;
    EXPECT_EQ(r.out, "OK\n") << how << '\n' << r;
  }
}

namespace {
// Go's call is announced and computes; ours is that, and one that nobody announced and that waits.
void compute(std::chrono::microseconds length) {
  const auto end = std::chrono::steady_clock::now() + length;
  while (std::chrono::steady_clock::now() < end) continue;
}

template <class Call>
void preemption_after_syscall(Call call) {
  with_procs(2, [=] {
    constexpr int goroutines = 8;
    for (int i = 0; i < scaled(10, 1); ++i) {
      auto c = weft::make_chan<bool>(goroutines);
      std::atomic<bool> stop_it{false};
      const auto start = std::chrono::steady_clock::now();
      for (int g = 0; g < goroutines; ++g)
        weft::go([=, &stop_it] {
          c.send(true);
          while (!stop_it) call();
          c.send(true);
        });
      for (int g = 0; g < goroutines; ++g) c.recv();   // all have started
      stop_it = true;
      for (int g = 0; g < goroutines; ++g) c.recv();   // and ended
      EXPECT_LT(std::chrono::steady_clock::now() - start, 5s * weft_test::slowdown);
    }
  });
}
}  // namespace

TEST(proc_test, TestPreemptionAfterSyscall) {
  for (auto length : {10us, 100us, 1000us}) {
    preemption_after_syscall([=] { weft::blocking([=] { compute(length); }); });
    preemption_after_syscall([=] { usleep(static_cast<useconds_t>(length.count())); });
  }
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
    EXPECT_NE(tid, getpid()) << "no goroutine runs on the process's first thread, which cannot end";
    EXPECT_NE(thread_id(), getpid());
    EXPECT_NE(thread_id(), tid);
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
  for (int procs : {1, 4})
    with_procs(procs, [] {
      char before[4096];
      ASSERT_NE(getcwd(before, sizeof before), nullptr);
      const char* elsewhere = std::strcmp(before, "/") == 0 ? "/proc" : "/";
      bool changed = false;
      weft::spawn(weft::attrs{.locked = true}, [&] {
        changed = unshare(CLONE_FS) == 0 && chdir(elsewhere) == 0;
      }).join();
      if (!changed) GTEST_SKIP() << "unshare(CLONE_FS) is refused here";
      for (int i = 0; i < 50; ++i)
        weft::spawn(weft::attrs{.locked = true}, [&] {
          char now[4096];
          EXPECT_STREQ(getcwd(now, sizeof now), before);
        }).join();
    });
}

// As Go's, in a process of its own each time: the threads of the first world are yet to be made.
TEST(proc_test, TestLockOSThreadTemplateThreadRace) {
  for (int i = 0; i < scaled(100, 5); ++i) {
    weft_test::child_result r = weft_test::run_program("preempt", {"template_thread_race"});
    ASSERT_EQ(r.exit_status, 0) << "run " << i << '\n' << r;
    ASSERT_EQ(r.out, "OK\n") << "run " << i << '\n' << r;
  }
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

// Across a stop of the world running goroutines stay on their P, and the P on its M. Best effort, in Go and
// here, and on a busy machine the end of a slice looks the same; so the best of some attempts counts. In a
// process of its own, where slices have their usual length.
TEST(proc_test, TestTraceSTW) {
  weft_test::child_result r;
  for (int attempt = 0; attempt < 10 && r.exit_status != 0; ++attempt)
    r = weft_test::run_program("preempt", {"trace_stw"});
  EXPECT_EQ(r.exit_status, 0) << r;
}
