// sema_test.cpp — Go's runtime semaphore: a hand-over lets the waiter run first; a thread's timed sleep ends
// in time whatever signals come. Tests are named after Go's.
#include <gtest/gtest.h>
#include <pthread.h>
#include <signal.h>

#include <atomic>
#include <thread>

#include "base/note.hpp"
#include "os/os.hpp"
#include "sched/inside.hpp"
#include "sched/park.hpp"
#include "support/weft_test.hpp"
#include "wait/wait_list.hpp"
#include "weft/wait_group.hpp"

namespace {

using weft_test::scaled;

// A token that is handed from its releaser to the waiter, together with the rest of the releaser's slice.
class token {
 public:
  void acquire() {
    weft::rt::inside_parking in;
    weft::rt::waiting list(list_);
    list.lock();
    EXPECT_EQ(list.wait(weft::rt::wait_reason::semaphore_acquire, nullptr), weft::detail::wait_status::done);
  }
  void hand_over() {
    weft::rt::inside_parking in;
    weft::rt::waiting list(list_);
    list.lock();
    weft::rt::wakeup next = list.take_one();
    list.unlock();
    if (next.won) weft::rt::ready_and_yield(next.gp);
  }
  bool is_wanted() const { return !list_.seems_empty(); }

 private:
  weft::detail::wait_list list_;
};

bool waiter_runs_first(int procs) {
  token t;
  std::atomic<int> first{0};
  std::atomic<bool> done{false};
  weft::wait_group all;
  auto claim = [&](int who) {
    int nobody = 0;
    first.compare_exchange_strong(nobody, who);
  };
  for (int i = 0; i < procs; ++i)   // keep the processors busy, so that ours is not simply stolen from
    all.go([&] {
      while (!done) weft::this_goroutine::yield();
    });
  all.go([&] {
    t.acquire();
    claim(1);
    done = true;
  });
  while (!t.is_wanted()) weft::this_goroutine::yield();
  t.hand_over();
  claim(2);
  all.wait();
  return first == 1;
}

void expect_mostly_handed_over(int procs) {
  weft_test::with_procs(procs, [procs] {
    const int rounds = scaled(10000, 100);
    int good = 0;
    for (int i = 0; i < rounds; ++i) good += waiter_runs_first(procs);
    EXPECT_GE(good, rounds * 2 / 3) << "of " << rounds << " with " << procs << " processors";
  });
}

TEST(sema, TestSemaHandoff) { expect_mostly_handed_over(4); }
TEST(sema, TestSemaHandoff1) { expect_mostly_handed_over(1); }
TEST(sema, TestSemaHandoff2) { expect_mostly_handed_over(2); }

TEST(sema, TestSpuriousWakeupsNeverHangSemasleep) {
  struct sigaction act = {};
  act.sa_handler = [](int) {};
  sigaction(SIGIO, &act, nullptr);   // without SA_RESTART: each one interrupts the futex
  constexpr std::int64_t sleep_ns = 200'000'000;
  std::atomic<bool> over{false};
  bool woken = true;
  std::int64_t slept = 0;
  std::thread sleeper([&] {
    weft::rt::note n;
    const std::int64_t start = weft::rt::os::nanotime();
    woken = n.sleep(start + sleep_ns);
    slept = weft::rt::os::nanotime() - start;
    over = true;
  });
  int signals = 0;
  for (; !over; ++signals) {   // more often than the time that is left: a restarted sleep would never end
    pthread_kill(sleeper.native_handle(), SIGIO);
    weft::rt::os::sleep_ns(sleep_ns / 20);
    ASSERT_LT(signals, 1000) << "the sleep starts anew at each signal";
  }
  sleeper.join();
  EXPECT_FALSE(woken);
  EXPECT_GE(slept, sleep_ns);
  EXPECT_GT(signals, 0);
}

}  // namespace
