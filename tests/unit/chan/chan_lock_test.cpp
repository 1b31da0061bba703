// chan_lock_test.cpp — a channel's biased lock: one holder at a time, whoever takes the bias away and when.
#include "chan/chan_lock.hpp"

#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#include "context/sanitizer.hpp"
#include "os/linux/pause.hpp"
#include "sched/inside.hpp"
#include "support/weft_test.hpp"
#include "weft/chan.hpp"
#include "weft/go.hpp"
#include "weft/selector.hpp"
#include "weft/this_goroutine.hpp"
#include "weft/timer.hpp"
#include "weft/wait_group.hpp"

namespace rt = weft::rt;

namespace {

rt::chan_core& core_of(const weft::chan<int>& c) { return *weft::detail::chan_access::core(c); }

constexpr int uses_to_adopt = rt::chan_lock::uses_to_adopt;

bool is_biased(const weft::chan<int>& c) { return core_of(c).lock.bias.load() != rt::chan_lock::nobody; }

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

TEST(chan_lock, APThatUsesItAloneForLongAdoptsIt) {
  weft::run({.maxprocs = 1}, [] {
    auto c = biased();
    long counter = 0;
    for (int round = 0; round < 3; ++round) {
      std::thread([&] { add_under_lock(c, counter, 1); }).join();
      add_under_lock(c, counter, uses_to_adopt);     // the first one only makes it the last user
      EXPECT_FALSE(is_biased(c));
      add_under_lock(c, counter, 1);
      EXPECT_TRUE(is_biased(c));
      add_under_lock(c, counter, 10);
      weft::go([c] { c.send(7); });
      EXPECT_EQ(c.recv(), 7);
      EXPECT_TRUE(is_biased(c));
    }
    EXPECT_EQ(counter, 3 * (uses_to_adopt + 12));
  });
}

TEST(chan_lock, TheUseThatAdoptsHoldsTheLock) {
  weft::run({.maxprocs = 1}, [] {
    auto c = biased();
    long counter = 0;
    std::atomic<bool> held{false}, entered{false};
    std::thread([&] { add_under_lock(c, counter, 1); }).join();
    std::thread other([&] {
      while (!held) std::this_thread::yield();
      add_under_lock(c, counter, 1);
      entered = true;
    });
    add_under_lock(c, counter, uses_to_adopt);
    {
      rt::inside in;
      rt::lock(core_of(c));
      EXPECT_TRUE(is_biased(c));
      held = true;
      while (is_biased(c)) rt::os::cpu_pause(1);     // the other one has begun to take it away
      for (int i = 0; i < 1000; ++i) rt::os::cpu_pause(1);
      EXPECT_FALSE(entered);
      rt::unlock(core_of(c));
    }
    other.join();
  });
}

TEST(chan_lock, AThreadWithoutAPDoesNot) {
  weft::run({.maxprocs = 1}, [] {
    auto c = biased();
    long counter = 0;
    std::thread([&] { add_under_lock(c, counter, 2 * uses_to_adopt); }).join();
    EXPECT_FALSE(is_biased(c));
  });
}

TEST(chan_lock, ATimersChannelIsNobodys) {           // any P fires it, under the shared lock
  weft::run({.maxprocs = 1}, [] {
    auto c = weft::after(std::chrono::hours(1));
    auto& core = *weft::detail::chan_access::core(c);
    for (int i = 0; i < 2 * uses_to_adopt; ++i) {
      rt::inside in;
      rt::lock(core);
      rt::unlock(core);
    }
    EXPECT_EQ(core.lock.bias.load(), rt::chan_lock::nobody);
  });
}

// More biased locks at once than a P can list: the rest are taken as everybody else takes them.
TEST(chan_lock, ASelectOfMoreThanOnePCanList) {
  weft::run({.maxprocs = 1}, [] {
    std::vector<weft::chan<int>> channels;
    while (channels.size() < 3 * rt::biased_locks::capacity) channels.push_back(biased());
    int got = -1;
    weft::selector any;
    for (auto& c : channels) any.on_recv(c, [&](std::optional<int> v) { got = *v; });
    for (int round = 0; round < 10; ++round) {
      weft::go([&, round] { channels[round].send(round); });
      EXPECT_EQ(any.select(), static_cast<std::size_t>(round));
      EXPECT_EQ(got, round);
    }
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
    }
  });
}

// Two that take turns: each uses the lock alone until it has the bias, and is still at it when the other one
// comes and takes it away.
TEST(chan_lock, OneHolderWhileTheBiasMoves) {
  weft_test::for_each_procs([] {
    constexpr int turns = 60, alone = uses_to_adopt + 500, together = 300;
    auto c = biased();
    long counter = 0;
    std::atomic<int> turn{0};
    weft::wait_group both;
    for (int me : {0, 1}) {
      both.add(1);
      weft::go([&, c, me] {
        for (int t = me; t < turns; t += 2) {
          while (turn != t) weft::this_goroutine::yield();
          add_under_lock(c, counter, alone);
          turn = t + 1;
          add_under_lock(c, counter, together);
        }
        both.done();
      });
    }
    both.wait();
    EXPECT_EQ(counter, long{turns} * (alone + together));
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
