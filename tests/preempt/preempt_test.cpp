// preempt_test.cpp — a goroutine that computes and never calls Weft does not keep the others from running.
//
// Each loop here ends only by what another goroutine does: without preemption the test hangs. Run twice: with
// slices of 10 ms, and of 200 us.
#include <signal.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "support/child.hpp"
#include "support/weft_test.hpp"
#include "weft/chan.hpp"
#include "weft/go.hpp"
#include "weft/this_goroutine.hpp"
#include "weft/wait_group.hpp"

namespace {

using namespace std::chrono_literals;
using weft_test::for_each_procs;
using weft_test::scaled;

// Computes until another goroutine says so.
void spin_until(const std::atomic<bool>& stop) {
  for (volatile std::uint64_t n = 0; !stop.load(std::memory_order_relaxed);) n = n + 1;
}

void spin_for(std::chrono::microseconds time) {
  const auto end = std::chrono::steady_clock::now() + time;
  while (std::chrono::steady_clock::now() < end) continue;
}

// f(i) in n goroutines; the destructor waits for all of them.
class crowd {
 public:
  template <class F>
  crowd(int n, F f) {
    for (int i = 0; i < n; ++i) {
      all_.add(1);
      weft::go([this, f, i] {
        f(i);
        all_.done();
      });
    }
  }
  ~crowd() { all_.wait(); }
  void wait() { all_.wait(); }

 private:
  weft::wait_group all_;
};

}  // namespace

TEST(preempt, LoopsLeaveTimeForASleeper) {
  for_each_procs([](int procs) {
    std::atomic<bool> stop{false};
    crowd loops(3 * procs, [&](int) { spin_until(stop); });
    for (int i = 0; i < scaled(20, 5); ++i) weft::this_goroutine::sleep_for(1ms);
    stop = true;
  });
}

TEST(preempt, LoopsLeaveTimeForOthersThatAreRunnable) {
  for_each_procs([](int procs) {
    std::atomic<bool> stop{false};
    crowd loops(procs, [&](int) { spin_until(stop); });
    for (int i = 0; i < scaled(20, 3); ++i) weft::this_goroutine::yield();
    auto c = weft::make_chan<int>();
    weft::go([c] { c.send(1); });
    EXPECT_EQ(c.recv(), 1);
    stop = true;
  });
}

// Each waits for what the one before it does.
TEST(preempt, LoopsThatWaitForEachOther) {
  for_each_procs([](int procs) {
    const int n = 2 * procs + 1;
    std::vector<std::atomic<bool>> set(static_cast<std::size_t>(n) + 1);
    set[0] = true;
    crowd chain(n, [&](int i) {
      spin_until(set[static_cast<std::size_t>(n - 1 - i)]);
      set[static_cast<std::size_t>(n - i)] = true;
    });
    chain.wait();
    EXPECT_TRUE(set[static_cast<std::size_t>(n)]);
  });
}

// Who comes from outside does not wait for a whole slice of every loop.
TEST(preempt, AnAnswerToAThreadDoesNotWaitForWholeSlices) {
  for_each_procs([](int procs) {
    if (procs > 2) return;                           // more than there may be CPUs: the loops slow each other
    constexpr int answers = 51;
    std::atomic<bool> stop{false};
    auto asked = weft::make_chan<int>(), answered = weft::make_chan<int>();
    crowd loops(procs, [&](int) { spin_until(stop); });
    weft::go([=] {
      while (auto i = asked.recv()) answered.send(*i);
    });
    std::vector<double> ms;
    std::thread client([&] {
      for (int i = 0; i < answers; ++i) {
        std::this_thread::sleep_for(3ms);
        const auto start = std::chrono::steady_clock::now();
        asked.send(i);
        answered.recv();
        ms.push_back((std::chrono::steady_clock::now() - start) / 1.0ms);
      }
      stop = true;
      asked.close();
    });
    loops.wait();
    client.join();
    std::sort(ms.begin(), ms.end());
    EXPECT_LT(ms[answers / 2], 6 * weft_test::slowdown);   // 0.4; 9 and more with whole slices
  });
}

// It makes calls all the time, and floods its ring. A timer that is due waits for half a millisecond of that,
// not for the end of the slice.
TEST(preempt, WhoStartsGoroutinesAllTheTimeLeavesTimeForASleeper) {
  weft_test::with_procs(1, [] {
    using clock = std::chrono::steady_clock;
    std::atomic<bool> stop{false};
    std::atomic<int> ran{0};
    weft::wait_group all;
    all.go([&] {
      while (!stop) weft::this_goroutine::sleep_for(1ms);
    });
    clock::duration here{};
    int turns = 1, seen = 0;
    for (auto last = clock::now(); here < 100ms;) {
      all.go([&ran] { ++ran; });
      const auto now = clock::now();
      if (ran == seen)
        here += now - last;
      else
        ++turns;
      seen = ran;
      last = now;
    }
    stop = true;
    all.wait();
    EXPECT_GT(turns, 25);                            // 80; 8 with whole slices
  });
}

// It makes calls all the time and never parks, nobody else can run, and its timer is due: the slice ends.
TEST(preempt, WhoNeverParksInItsCallsLeavesTimeForASleeper) {
  weft_test::with_procs(1, [] {
    std::atomic<bool> stop{false};
    int turns = 0;
    weft::wait_group sleeper;
    sleeper.go([&] {
      for (; turns < 20; ++turns) weft::this_goroutine::sleep_for(1ms);
      stop = true;
    });
    auto c = weft::make_chan<int>(1);
    const auto start = std::chrono::steady_clock::now();
    while (!stop && std::chrono::steady_clock::now() - start < 20s) {
      EXPECT_TRUE(c.try_send(1));
      EXPECT_TRUE(c.try_recv());
    }
    EXPECT_EQ(turns, 20);                            // 0.1 s; never
    stop = true;
    turns = 20;
    sleeper.wait();
  });
}

// The signal cannot reach it: the processor is claimed.
TEST(preempt, ALoopThatBlocksTheSignal) {
  for_each_procs([](int procs) {
    std::atomic<bool> stop{false};
    crowd loops(procs, [&](int) {
      weft::thread_lock here;                        // the mask is the thread's
      sigset_t urgent, before;
      sigemptyset(&urgent);
      sigaddset(&urgent, SIGURG);
      pthread_sigmask(SIG_BLOCK, &urgent, &before);
      spin_until(stop);
      pthread_sigmask(SIG_SETMASK, &before, nullptr);
    });
    for (int i = 0; i < 5; ++i) weft::this_goroutine::sleep_for(1ms);
    stop = true;
  });
}

// Stopped anywhere: in malloc, in an unwinder, in a stream, in a lock's critical section.
TEST(preempt, WhileTheyHoldLocks) {
  for_each_procs([](int procs) {
    std::atomic<bool> stop{false};
    std::mutex m;
    std::atomic<long> rounds[8] = {};
    crowd loops(8 * procs, [&](int i) {
      std::vector<std::string> kept(64);
      for (std::size_t k = 0; !stop.load(std::memory_order_relaxed); ++k) {
        kept[k % 64] = std::to_string(k) + std::string(k * 7 % 500, 'x');
        try {
          if (k % 16 == 0) throw std::runtime_error(kept[k % 64]);
        } catch (const std::exception& e) {
          EXPECT_EQ(kept[k % 64], e.what());
        }
        std::scoped_lock hold(m);
        rounds[i % 8].fetch_add(1, std::memory_order_relaxed);
      }
    });
    for (int tick = 0; tick < scaled(30, 5); ++tick) weft::this_goroutine::sleep_for(1ms);
    for (auto& r : rounds)
      while (r.load() == 0) weft::this_goroutine::yield();
    stop = true;
  });
}

// errno, and registers of all kinds, are as they were.
TEST(preempt, LeavesTheStateOfTheThreadAlone) {
  for_each_procs([](int procs) {
    std::atomic<bool> stop{false};
    crowd loops(2 * procs, [&](int i) {
      errno = 1000 + i;
      double x = i, sum = 0;
      long n = 0;
      while (!stop.load(std::memory_order_relaxed)) {
        for (int k = 0; k < 1000; ++k) sum += x;
        n += 1000;
      }
      EXPECT_EQ(errno, 1000 + i);
      EXPECT_EQ(sum, x * static_cast<double>(n));
    });
    for (int tick = 0; tick < scaled(20, 5); ++tick) weft::this_goroutine::sleep_for(1ms);
    stop = true;
  });
}

// A world ends while loops are stopped in the middle of malloc: who comes after it can allocate. The loops
// go on without the runtime.
TEST(preempt, TheEndOfAWorld) {
  for (int round = 0; round < scaled(10, 2); ++round) {
    for (int procs : {1, 2, 4}) {
      std::atomic<bool> stop{false};
      std::atomic<int> started{0}, ended{0};
      weft::run({.maxprocs = procs}, [&] {
        for (int i = 0; i < 8; ++i)
          weft::go([&] {
            ++started;
            while (!stop.load(std::memory_order_relaxed)) std::free(std::malloc(100));
            ++ended;
            weft::this_goroutine::yield();           // never returns when the world has ended
          });
        weft::this_goroutine::sleep_for(2ms);
        stop = round % 2 != 0;
      });
      for (int i = 0; i < 1000; ++i) std::free(std::malloc(static_cast<std::size_t>(i)));
      stop = true;
      while (ended != started) std::this_thread::yield();
    }
  }
}

// Nobody's thread is needed for more than one slice after the other, so not each of them may keep one.
TEST(preempt, PureComputationDoesNotNeedAThreadEach) {
  const int n = scaled(1000, 100);
  weft_test::with_procs(2, [n] {
    std::atomic<int> done{0};
    crowd all(n, [&](int) {
      spin_for(1ms);
      ++done;
    });
    all.wait();
    EXPECT_EQ(done, n);
  });
}

// A loop ends, and SIGURG stays the program's own; also without signals of ours.
TEST(preempt, AProgramsOwnHandlerIsKept) {
  for (const char* how : {"WEFTDEBUG=asyncpreemptoff=0", "WEFTDEBUG=asyncpreemptoff=1"}) {
    const weft_test::child_result r = weft_test::run_program("urgent", {}, {how});
    EXPECT_EQ(r.exit_status, 0) << r;
    EXPECT_EQ(r.out, "20 0\n") << r;
  }
}
