// channels_test.cpp — storms on channels: nothing is lost, doubled or left behind.
#include <algorithm>
#include <array>
#include <atomic>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

#include "stress.hpp"
#include "weft/chan.hpp"
#include "weft/go.hpp"
#include "weft/select.hpp"
#include "weft/this_goroutine.hpp"
#include "weft/wait_group.hpp"

using namespace stress;
using namespace std::chrono_literals;
using weft_test::scaled;

namespace {

// A value whose moves count: each token must arrive once, whichever way it went.
using token = std::unique_ptr<int>;
using token_chan = weft::chan<token>;

// Carries tokens from one channel to another, each time in one of the ways there are.
class carrier {
 public:
  carrier(const std::vector<token_chan>& channels, std::uint64_t seed) : channels_(channels), dice_(seed) {}

  void run(int steps) {
    for (int i = 0; i < steps; ++i) {
      if (held_.size() < 3 && !dice_.one_in(3)) take();
      else give();
      if (dice_.one_in(16)) weft::this_goroutine::yield();
      if (dice_.one_in(200)) weft::this_goroutine::sleep_for(dice_.micros_below(300));
    }
  }
  std::vector<token> take_held() { return std::move(held_); }

 private:
  const token_chan& any() { return channels_[dice_.index(channels_.size())]; }
  void keep(std::optional<token> t) {
    if (t) held_.push_back(std::move(*t));
  }

  void take() {
    const token_chan &a = any(), &b = any();
    switch (dice_.below(4)) {
      case 0:
        if (auto t = a.try_recv()) held_.push_back(*std::move(t));
        break;
      case 1:
        if (auto t = a.recv_for(dice_.micros_below(200))) held_.push_back(*std::move(t));
        break;
      case 2:
        weft::select(weft::on_recv(a, [&](std::optional<token> t) { keep(std::move(t)); }),
                     weft::on_recv(b, [&](std::optional<token> t) { keep(std::move(t)); }),
                     weft::otherwise([] {}));
        break;
      case 3:
        weft::select(weft::on_recv(a, [&](std::optional<token> t) { keep(std::move(t)); }),
                     weft::on_recv(b, [&](std::optional<token> t) { keep(std::move(t)); }),
                     weft::on_timeout(dice_.micros_below(200), [] {}));
        break;
    }
  }

  void give() {
    if (held_.empty()) return;
    token t = std::move(held_.back());
    held_.pop_back();
    if (dice_.one_in(2)) (void)any().try_send(std::move(t));
    else (void)any().send_for(std::move(t), dice_.micros_below(200));
    if (t) held_.push_back(std::move(t));   // not sent: still ours
  }

  const std::vector<token_chan>& channels_;
  dice dice_;
  std::vector<token> held_;
};

}  // namespace

TEST(stress, tokens_move_and_none_is_lost) {
  storm([](std::uint64_t seed) {
    dice d(seed);
    std::vector<token_chan> channels;
    for (int i = 0; i < 6; ++i) channels.push_back(weft::make_chan<token>(i < 3 ? 0 : d.below(8)));
    const int tokens = 20, carriers = 4 + d.below(12), steps = scaled(500, 50);
    auto ended = weft::make_chan<std::vector<token>>();
    auto source = weft::make_chan<token>(tokens);
    for (int i = 0; i < tokens; ++i) source.send(std::make_unique<int>(i));
    channels.push_back(source);
    for (int i = 0; i < carriers; ++i)
      weft::go([&channels, ended, steps, own = seed * 1000 + static_cast<std::uint64_t>(i)] {
        carrier c(channels, own);
        c.run(steps);
        ended.send(c.take_held());
      });
    std::vector<int> seen;
    for (int i = 0; i < carriers; ++i) {
      const std::optional<std::vector<token>> held = ended.recv();
      for (const token& t : *held) seen.push_back(*t);
    }
    for (const token_chan& c : channels)
      while (auto t = c.try_recv()) seen.push_back(**t);
    std::ranges::sort(seen);
    ASSERT_EQ(seen.size(), static_cast<std::size_t>(tokens));
    for (int i = 0; i < tokens; ++i) EXPECT_EQ(seen[static_cast<std::size_t>(i)], i);
  });
}

// Two goroutines that select on the same channels in opposite directions, many of them at once.
TEST(stress, selects_meet_selects) {
  storm([](std::uint64_t seed) {
    const auto a = weft::make_chan<int>(), b = weft::make_chan<int>();
    const int pairs = 8, meetings = scaled(300, 20);
    std::atomic<long> sent{0}, received{0};
    weft::wait_group all_done;
    all_done.add(2 * pairs);
    for (int i = 0; i < pairs; ++i) {
      const auto own = seed * 100 + static_cast<std::uint64_t>(i);
      weft::go([&, own, meetings] {
        dice d(own);
        for (int k = 0; k < meetings; ++k) {
          const int v = d.below(1000), w = d.below(1000);
          weft::select(weft::on_send(a, v, [&] { sent += v; }), weft::on_send(b, w, [&] { sent += w; }));
        }
        all_done.done();
      });
      weft::go([&, meetings] {
        const auto take = [&](std::optional<int> v) { received += *v; };
        for (int k = 0; k < meetings; ++k) weft::select(weft::on_recv(b, take), weft::on_recv(a, take));
        all_done.done();
      });
    }
    all_done.wait();
    EXPECT_EQ(sent.load(), received.load());
  });
}

// Close comes at any moment: what was sent arrives, and everybody hears of the end.
TEST(stress, close_in_the_middle) {
  storm([](std::uint64_t seed) {
    dice d(seed);
    for (int round = 0; round < scaled(20, 2); ++round) {
      const auto values = weft::make_chan<int>(d.below(4));
      std::atomic<int> sent{0}, received{0};
      weft::wait_group all_done;
      const int senders = 1 + d.below(6), receivers = 1 + d.below(6);
      all_done.add(senders + receivers);
      for (int i = 0; i < senders; ++i)
        weft::go([&] {
          try {
            for (;;) {
              values.send(1);
              ++sent;
            }
          } catch (const weft::channel_closed&) {
          }
          all_done.done();
        });
      for (int i = 0; i < receivers; ++i)
        weft::go([&] {
          while (values.recv()) ++received;
          all_done.done();
        });
      weft::this_goroutine::sleep_for(d.micros_below(300));
      values.close();
      all_done.wait();
      EXPECT_EQ(sent.load(), received.load());
    }
  });
}

// Threads that Weft did not start talk to goroutines.
TEST(stress, threads_and_goroutines_share_channels) {
  storm([](std::uint64_t seed) {
    dice d(seed);
    const int each = scaled(500, 50), threads = 3, goroutines = 3;
    const auto values = weft::make_chan<int>(d.below(3));
    const auto back = weft::make_chan<long>(16);
    std::vector<std::thread> plain;
    for (int i = 0; i < threads; ++i)
      plain.emplace_back([=] {
        for (int k = 0; k < each; ++k) values.send(1);
        back.send(0);
      });
    for (int i = 0; i < goroutines; ++i)
      weft::go([=] {
        long sum = 0;
        for (int last = -1; last != 0;)
          if (const auto v = values.recv_for(1ms)) sum += last = *v;
        back.send(sum);
      });
    for (int i = 0; i < threads; ++i) EXPECT_EQ(*back.recv(), 0);
    for (int i = 0; i < goroutines; ++i) values.send(0);
    long sum = 0;
    for (int i = 0; i < goroutines; ++i) sum += *back.recv();
    for (std::thread& t : plain) t.join();
    EXPECT_EQ(sum, static_cast<long>(threads) * each);
  });
}
