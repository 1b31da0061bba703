// chan_lock_test.cpp — a channel's biased lock: one holder at a time, whoever takes the bias away and when.
#include "chan/chan_lock.hpp"

#include <atomic>
#include <thread>

#include "context/sanitizer.hpp"
#include "os/linux/pause.hpp"
#include "sched/inside.hpp"
#include "support/weft_test.hpp"
#include "weft/chan.hpp"
#include "weft/go.hpp"
#include "weft/this_goroutine.hpp"
#include "weft/wait_group.hpp"

namespace rt = weft::rt;

namespace {

rt::chan_core& core_of(const weft::chan<int>& c) { return *weft::detail::chan_access::core(c); }

bool is_biased(const weft::chan<int>& c) { return !core_of(c).lock.revoked.load(); }

// A channel with a bias: after enough of them, whatever this P owes.
weft::chan<int> biased() {
  for (;;)
    if (auto c = weft::make_chan<int>(); is_biased(c)) return c;
}

void add_under_lock(const weft::chan<int>& c, long& counter, int times) {
  for (int i = 0; i < times; ++i) {
    rt::inside in;
    rt::lock(core_of(c));
    rt::sanitizer::hb_acquire(&core_of(c));   // the lock itself is not visible to ThreadSanitizer
    const long seen = counter;
    rt::os::cpu_pause(1);              // so that a second holder would be seen
    counter = seen + 1;
    rt::sanitizer::hb_release(&core_of(c));
    rt::unlock(core_of(c));
  }
}

}  // namespace

TEST(chan_lock, ItsOwnPKeepsTheBias) {
  weft::run({.maxprocs = 1}, [] {
    auto c = biased();
    long counter = 0;
    add_under_lock(c, counter, 1000);
    weft::go([c] { c.send(7); });
    EXPECT_EQ(c.recv(), 7);
    EXPECT_TRUE(is_biased(c));
  });
}

TEST(chan_lock, APlainThreadTakesItAway) {
  weft::run({.maxprocs = 1}, [] {
    auto c = biased();
    long counter = 0;
    std::thread([&] { add_under_lock(c, counter, 1); }).join();
    EXPECT_FALSE(is_biased(c));
    add_under_lock(c, counter, 1);
    EXPECT_EQ(counter, 2);
  });
}

TEST(chan_lock, WithoutAWorldThereIsNone) { EXPECT_FALSE(is_biased(weft::make_chan<int>())); }

TEST(chan_lock, APThatLostOneMakesTheNextWithout) {
  weft::run({.maxprocs = 1}, [] {
    auto c = biased();
    long counter = 0;
    std::thread([&] { add_under_lock(c, counter, 1); }).join();
    for (int i = 0; i < 512; ++i) ASSERT_FALSE(is_biased(weft::make_chan<int>())) << i;
    EXPECT_TRUE(is_biased(weft::make_chan<int>()));
  });
}

// The owner is in the bias nearly all the time while another thread takes it away.
TEST(chan_lock, OneHolderAtATime) {
  weft_test::for_each_procs([] {
    constexpr int rounds = 100, times = 2000;
    for (int round = 0; round < rounds; ++round) {
      auto c = biased();
      long counter = 0;
      std::atomic<bool> go{false};
      std::thread other([&] {
        while (!go) std::this_thread::yield();
        add_under_lock(c, counter, times);
      });
      go = true;
      add_under_lock(c, counter, times);
      other.join();
      ASSERT_EQ(counter, 2 * times) << round;
      ASSERT_FALSE(is_biased(c));
    }
  });
}

// The same among goroutines, which move from P to P and use the channel itself too.
TEST(chan_lock, OneHolderAmongPs) {
  weft_test::for_each_procs([] {
    for (int round = 0; round < 50; ++round) {
      constexpr int users = 8, times = 200;
      auto c = biased();
      long counter = 0;
      weft::wait_group all;
      for (int u = 0; u < users; ++u) {
        all.add(1);
        weft::go([&, c] {
          for (int i = 0; i < times; ++i) {
            add_under_lock(c, counter, 10);
            weft::this_goroutine::yield();
          }
          all.done();
        });
      }
      all.wait();
      ASSERT_EQ(counter, long{users} * times * 10) << round;
    }
  });
}
