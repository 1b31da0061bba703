// sync_test.cpp — storms on locks, sleeps, timers, trees of goroutines, processor counts and worlds.
#include <array>
#include <atomic>
#include <memory>
#include <mutex>
#include <vector>

#include "stress.hpp"
#include "weft/chan.hpp"
#include "weft/go.hpp"
#include "weft/join_handle.hpp"
#include "weft/mutex.hpp"
#include "weft/runtime.hpp"
#include "weft/this_goroutine.hpp"
#include "weft/timer.hpp"
#include "weft/wait_group.hpp"

using namespace stress;
using namespace std::chrono_literals;
using weft::this_goroutine::sleep_for;
using weft::this_goroutine::yield;
using weft_test::scaled;

namespace {

struct account {
  weft::mutex lock;
  long balance = 1000;   // guarded by lock
};

// Lock in any of the ways there are; false if it was not to be had.
bool lock_somehow(weft::mutex& m, dice& d) {
  switch (d.below(3)) {
    case 0: return m.try_lock();
    case 1: return m.try_lock_for(d.micros_below(200));
    default: m.lock(); return true;
  }
}

}  // namespace

// Money moves between accounts; holders yield and sleep with the lock held.
TEST(stress, locks_guard_what_they_guard) {
  storm([](std::uint64_t seed) {
    std::array<account, 4> accounts;
    const int movers = 16, moves = scaled(300, 30);
    weft::wait_group all_done;
    all_done.add(movers);
    for (int i = 0; i < movers; ++i)
      weft::go([&, moves, own = seed * 100 + static_cast<std::uint64_t>(i)] {
        dice d(own);
        for (int k = 0; k < moves; ++k) {
          auto from = d.index(accounts.size()), to = d.index(accounts.size());
          if (from == to) continue;
          if (from > to) std::swap(from, to);
          account &a = accounts[from], &b = accounts[to];
          if (!lock_somehow(a.lock, d)) continue;
          const std::lock_guard guard_a(a.lock, std::adopt_lock);
          if (d.one_in(8)) yield();
          if (!lock_somehow(b.lock, d)) continue;
          const std::lock_guard guard_b(b.lock, std::adopt_lock);
          const long amount = d.below(10), before = b.balance;
          if (d.one_in(8)) yield();
          if (d.one_in(200)) sleep_for(d.micros_below(200));
          a.balance -= amount;
          b.balance = before + amount;
        }
        all_done.done();
      });
    all_done.wait();
    long sum = 0;
    for (const account& a : accounts) sum += a.balance;
    EXPECT_EQ(sum, 4000);
  });
}

namespace {

// A random tree: every node waits for its children in one of the ways there are.
long grow(std::uint64_t seed, int depth) {
  dice d(seed);
  if (depth == 0) return 1;
  const int children = 1 + d.below(4);
  std::vector<weft::join_handle<long>> handles;
  const auto results = weft::make_chan<long>(d.below(2));
  int through_channel = 0;
  for (int i = 0; i < children; ++i) {
    const auto own = d.next();
    if (d.one_in(2)) {
      handles.push_back(weft::spawn(grow, own, depth - 1));
    } else {
      ++through_channel;
      weft::go([=] { results.send(grow(own, depth - 1)); });
    }
    if (d.one_in(4)) yield();
  }
  long leaves = 0;
  for (int i = 0; i < through_channel; ++i) leaves += *results.recv();
  for (auto& h : handles) leaves += h.join();
  return leaves;
}

long grow_without_goroutines(std::uint64_t seed, int depth) {
  dice d(seed);
  if (depth == 0) return 1;
  const int children = 1 + d.below(4);
  d.below(2);
  long leaves = 0;
  for (int i = 0; i < children; ++i) {
    leaves += grow_without_goroutines(d.next(), depth - 1);
    d.below(2);
    d.below(4);
  }
  return leaves;
}

}  // namespace

TEST(stress, trees_of_goroutines_are_complete) {
  storm([](std::uint64_t seed) {
    const int depth = weft_test::slowdown > 1 ? 5 : 7;
    EXPECT_EQ(grow(seed, depth), grow_without_goroutines(seed, depth));
  });
}

// Sleeps are never short, every timer fires once or is stopped once, tickers come and go.
TEST(stress, sleepers_and_timers) {
  storm([](std::uint64_t seed) {
    const int goroutines = scaled(200, 20);
    std::atomic<int> fired{0}, prevented{0}, early{0};
    weft::wait_group all_done;
    all_done.add(goroutines);
    for (int i = 0; i < goroutines; ++i)
      weft::go([&, own = seed * 1000 + static_cast<std::uint64_t>(i)] {
        dice d(own);
        for (int k = 0; k < 5; ++k) {
          const auto length = d.micros_below(2000);
          const auto due = clock::now() + length;
          sleep_for(length);
          if (clock::now() < due) ++early;
        }
        weft::timer t(d.micros_below(2000), [&] { ++fired; });
        sleep_for(d.micros_below(2000));
        if (t.stop()) ++prevented;
        weft::ticker k(d.micros_below(500) + 100us);
        k.chan().recv();
        k.reset(d.micros_below(500) + 100us);
        if (d.one_in(2)) k.chan().recv();
        all_done.done();
      });
    all_done.wait();
    const auto limit = clock::now() + 30s;
    while (fired + prevented < goroutines && clock::now() < limit) sleep_for(1ms);   // those just started
    EXPECT_EQ(fired + prevented, goroutines);
    EXPECT_EQ(early, 0);
  });
}

// The number of processors changes all the time; work goes on.
TEST(stress, processors_come_and_go) {
  storm([](std::uint64_t seed) {
    dice d(seed);
    const auto values = weft::make_chan<int>(4);
    weft::wait_group all_done;
    const int workers = 10, each = scaled(300, 30);
    all_done.add(2 * workers);
    std::atomic<long> sum{0};
    for (int i = 0; i < workers; ++i) {
      weft::go([&, each] {
        for (int k = 0; k < each; ++k) {
          values.send(1);
          if (k % 64 == 0) sleep_for(50us);
        }
        all_done.done();
      });
      weft::go([&, each] {
        for (int k = 0; k < each; ++k) {
          sum += *values.recv();
          if (k % 16 == 0) yield();
        }
        all_done.done();
      });
    }
    for (int i = 0; i < 10; ++i) {
      const int wanted = 1 + d.below(8);
      weft::set_maxprocs(wanted);
      EXPECT_EQ(weft::maxprocs(), wanted);
      sleep_for(d.micros_below(500));
    }
    all_done.wait();
    EXPECT_EQ(sum.load(), static_cast<long>(workers) * each);
  });
}

namespace {

// What goroutines of ended worlds wait for: it outlives all worlds.
struct left_behind {
  weft::mutex held;
  weft::chan<int> never = weft::make_chan<int>();
  weft::chan<int> full = weft::make_chan<int>(1);
};
left_behind& remains() {
  static auto* const r = new left_behind;   // never destroyed: waiters of ended worlds hang in it
  return *r;
}

}  // namespace

// Worlds begin and end with goroutines in every kind of wait, and with some still running.
TEST(stress, worlds_end_in_the_middle) {
  remains().held.lock();
  remains().full.send(0);
  storm([](std::uint64_t seed) {
    dice d(seed);
    for (int i = 0; i < 40; ++i) {
      switch (d.below(6)) {
        case 0: weft::go([] { remains().never.recv(); }); break;
        case 1: weft::go([] { remains().full.send(1); }); break;
        case 2: weft::go([] { remains().held.lock(); }); break;
        case 3: weft::go([] { sleep_for(1h); }); break;
        case 4: weft::go([] { (void)remains().never.recv_for(1h); }); break;
        default:
          weft::go([] {
            for (;;) yield();
          });
      }
    }
    sleep_for(d.micros_below(2000));
  });
}
