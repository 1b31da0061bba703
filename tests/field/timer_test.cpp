// timer_test.cpp — field cases of late timers, of leaked ones, and of stop and reset near the expiry.
#include <atomic>
#include <optional>
#include <random>

#include "field.hpp"
#include "weft/chan.hpp"
#include "weft/go.hpp"
#include "weft/select.hpp"
#include "weft/this_goroutine.hpp"
#include "weft/timer.hpp"
#include "weft/wait_group.hpp"

using namespace field;
using weft::this_goroutine::sleep_for;
using weft::this_goroutine::yield;

namespace {

double late_ms(clock::duration length) {   // of one sleep
  const auto due = clock::now() + length;
  sleep_for(length);
  return ms(clock::now() - due);
}

// Goroutines that do f() again and again until the object is gone.
template <class F>
class loops {
 public:
  loops(int n, F f) : f_(std::move(f)) {
    ended_.add(n);
    for (int i = 0; i < n; ++i)
      weft::go([this] {
        while (!stop_.load(std::memory_order_relaxed)) f_();
        ended_.done();
      });
  }
  ~loops() {
    stop_ = true;
    ended_.wait();
  }

 private:
  F f_;
  std::atomic<bool> stop_{false};
  weft::wait_group ended_;
};

std::vector<double> sleepers_beside_busy_processors(int busy) {
  constexpr int sleepers = 8, sleeps = 100;
  std::vector<double> late(sleepers * sleeps);
  with_procs(4, [&] {
    const loops noise(busy, [] {
      work_for(100us);
      yield();
    });
    weft::wait_group all_done;
    all_done.add(sleepers);
    for (int i = 0; i < sleepers; ++i)
      weft::go([&, mine = &late[static_cast<std::size_t>(i * sleeps)]] {
        for (int k = 0; k < sleeps; ++k) mine[k] = late_ms(10ms);
        all_done.done();
      });
    all_done.wait();
  });
  return late;
}

}  // namespace

// Timers of a busy processor are run by whoever looks for work, and at every switch. Four computing threads
// on two cores wait for each other for several kernel slices of 3 to 4 ms, for more when others compute too;
// the fault piles up without limit.
TEST(field, F30) {
  for (int busy : {4, 3}) {
    const meter m;
    const auto late = sleepers_beside_busy_processors(busy);
    const double slack = slowdown * m.crowding(busy);
    EXPECT_GE(smallest(late), 0) << busy;
    EXPECT_LE(percentile(late, 0.5), 25 * slack) << busy;
    EXPECT_LE(percentile(late, 0.99), 150 * slack) << busy;
  }
}

// A new earliest timer wakes the thread that waits for a later one.
TEST(field, F32) {
  with_procs(4, [] {
    weft::go([] {
      for (;;) sleep_for(10s);
    });
    std::vector<double> late(static_cast<std::size_t>(scaled(1500, 100)));
    for (double& l : late) l = late_ms(1ms);
    EXPECT_GE(smallest(late), 0);
    EXPECT_LE(percentile(late, 0.9), 20 * slowdown);
    EXPECT_LE(largest(late), 1000 * slowdown);   // the fault: seconds
  });
}

// Timers come due although the run queues are never empty.
TEST(field, F34) {
  with_procs(2, [] {
    std::atomic<int> fired{0};
    weft::timer every;
    const loops noise(200, [] {
      work_for(1us);
      yield();
    });
    every = weft::timer(1h, [&] {
      fired.fetch_add(1);
      every.reset(10ms);
    });
    every.reset(10ms);   // not before `every` is written
    std::vector<double> late(50);
    const meter m;
    for (double& l : late) l = late_ms(10ms);
    EXPECT_GE(smallest(late), 0);
    EXPECT_LE(percentile(late, 0.9), 50 * slowdown);
    EXPECT_LT(m.seconds(), 4 * slowdown);   // 0.5 s of sleep
    EXPECT_GE(fired.load(), 10);
    every.stop();
    sleep_for(20ms);   // a firing that had begun has ended
    every.stop();
  });
}

// A time-out that is not needed any more leaves nothing behind.
TEST(field, F35) {
  with_procs(2, [] {
    auto ready = weft::make_chan<int>(1);
    const std::int64_t before = resident();
    for (int i = 0; i < scaled(1'000'000); ++i) {
      ready.send(i);
      int got = -1;
      weft::select(weft::on_recv(ready, [&](std::optional<int> v) { got = *v; }),
                   weft::on_recv(weft::after(1h), [](auto) {}));
      ASSERT_EQ(got, i);
    }
    EXPECT_LT(resident() - before, std::int64_t{50'000'000} * slowdown);
  });
}

namespace {

// One timer; its owner stops and resets it near its expiry while another goroutine receives. `newest_` is the
// earliest instant that a receive begun now may yield; every reset is of one length, so later ones yield no
// less.
class contested_timer {
 public:
  void owner(int rounds, unsigned seed) {
    std::minstd_rand random(seed);
    for (int i = 0; i < rounds; ++i) {
      sleep_for(std::chrono::microseconds(random() % 400));
      auto newest = clock::now();
      if (random() % 3 == 0) {
        timer_.stop();
        EXPECT_FALSE(timer_.chan().try_recv());   // stopped: nothing from before
        newest = clock::now();
        newest_ = newest;
        timer_.reset(length);
      } else {
        timer_.reset(length);
        newest_ = newest + length;
      }
    }
    over_ = true;
  }
  void receiver() {
    while (!over_.load()) {
      const clock::time_point newest = newest_.load();
      if (const auto at = timer_.chan().recv_for(500us)) {
        EXPECT_GE(at->time_since_epoch().count(), newest.time_since_epoch().count());
        EXPECT_GE(clock::now().time_since_epoch().count(), at->time_since_epoch().count());
      }
    }
  }

 private:
  static constexpr auto length = 200us;
  weft::timer timer_{length};
  std::atomic<clock::time_point> newest_{clock::now()};
  std::atomic<bool> over_{false};
};

}  // namespace

TEST(field, F37) {
  with_procs(4, [] {
    constexpr int timers = 8;
    weft::wait_group all_done;
    all_done.add(2 * timers);
    std::vector<contested_timer> contested(timers);
    for (unsigned seed = 1; contested_timer& t : contested) {
      weft::go([&, seed = seed++] {
        t.owner(scaled(2000, 100), seed);
        all_done.done();
      });
      weft::go([&] {
        t.receiver();
        all_done.done();
      });
    }
    all_done.wait();
  });
}

namespace {

enum class state { pending, expired_unread, expired_read };

// "If stop() says false, drain the channel", without blocking, then use the timer again.
double stopped_drained_and_reset(state before) {
  weft::timer t(before == state::pending ? clock::duration(1h) : clock::duration(1ms));
  if (before == state::expired_unread) sleep_for(3ms);
  if (before == state::expired_read) t.chan().recv();
  t.stop();
  EXPECT_FALSE(t.chan().try_recv());
  const auto start = clock::now();
  t.reset(5ms);
  EXPECT_TRUE(t.chan().recv());
  return ms(clock::now() - start);
}

}  // namespace

TEST(field, F39) {
  with_procs(4, [] {
    const int goroutines = 100, rounds = scaled(20, 2);
    std::vector<double> took(static_cast<std::size_t>(goroutines * rounds * 3));
    weft::wait_group all_done;
    all_done.add(goroutines);
    for (int i = 0; i < goroutines; ++i)
      weft::go([&, rounds, mine = &took[static_cast<std::size_t>(i * rounds * 3)]]() mutable {
        for (int k = 0; k < rounds; ++k)
          for (state s : {state::pending, state::expired_unread, state::expired_read})
            *mine++ = stopped_drained_and_reset(s);
        all_done.done();
      });
    all_done.wait();
    EXPECT_GE(smallest(took), 5);
    EXPECT_LE(percentile(took, 0.9), 15 * slowdown);
    EXPECT_LE(largest(took), 1000 * slowdown);   // the fault: a hang
  });
}
