// chan_test.cpp — weft/chan.hpp: each operation by itself, element types of every kind, limits, threads and
// goroutines.
#include "weft/chan.hpp"

#include <array>
#include <chrono>
#include <deque>
#include <memory>
#include <string>
#include <thread>
#include <unordered_set>
#include <vector>

#include "support/weft_test.hpp"
#include "weft/go.hpp"

namespace {

using namespace std::chrono_literals;
using weft::errc;
using weft_test::for_each_procs;
using weft_test::with_procs;

// ---- handles ----

TEST(chan, handles_share_one_channel) {
  auto a = weft::make_chan<int>(2);
  auto b = a;
  weft::send_chan<int> s = a;
  weft::recv_chan<int> r = b;
  EXPECT_TRUE(a == b);
  EXPECT_TRUE(s == a);
  EXPECT_TRUE(r == s);
  EXPECT_FALSE(a == weft::make_chan<int>(2));
  s.send(7);
  EXPECT_EQ(a.size(), 1u);
  EXPECT_EQ(r.recv(), 7);
  std::unordered_set<weft::chan<int>> set{a, b};
  EXPECT_EQ(set.size(), 1u);
}

TEST(chan, default_constructed_is_nil) {
  weft::chan<int> c;
  EXPECT_FALSE(c);
  EXPECT_EQ(c.size(), 0u);
  EXPECT_EQ(c.capacity(), 0u);
  EXPECT_FALSE(c.is_closed());
  EXPECT_TRUE(c.try_send(1) == errc::full);
  EXPECT_EQ(c.try_recv().error(), errc::empty);
  EXPECT_TRUE(c.send_for(1, 1ms) == errc::timed_out);
  EXPECT_EQ(c.recv_for(1ms).error(), errc::timed_out);
  EXPECT_FALSE(c.try_close());
  try {
    c.close();
    FAIL();
  } catch (const std::logic_error& e) {
    EXPECT_STREQ(e.what(), "close of nil channel");
  }
  EXPECT_TRUE(c == weft::chan<int>());
}

TEST(chan, bad_sizes_throw) {
  for (std::ptrdiff_t n : {std::ptrdiff_t{-1}, std::ptrdiff_t{1} << 59, std::ptrdiff_t{PTRDIFF_MAX}}) {
    try {
      static_cast<void>(weft::make_chan<int>(n));
      FAIL() << n;
    } catch (const std::length_error& e) {
      EXPECT_STREQ(e.what(), "makechan: size out of range");
    }
  }
  EXPECT_EQ(weft::make_chan<int>(10).capacity(), 10u);
}

// ---- one goroutine ----

TEST(chan, buffer_is_fifo_and_knows_its_limits) {
  auto c = weft::make_chan<int>(3);
  for (int round = 0; round < 5; ++round) {   // the ring turns
    EXPECT_EQ(c.try_recv().error(), errc::empty);
    for (int i = 0; i < 3; ++i) {
      EXPECT_EQ(c.size(), static_cast<std::size_t>(i));
      EXPECT_TRUE(c.try_send(i + round));
    }
    EXPECT_TRUE(c.try_send(99) == errc::full);
    for (int i = 0; i < 3; ++i) EXPECT_EQ(*c.try_recv(), i + round);
    c.send(round);
    EXPECT_EQ(c.recv(), round);
  }
}

TEST(chan, closing) {
  auto c = weft::make_chan<int>(3);
  c.send(1);
  c.send(2);
  EXPECT_FALSE(c.is_closed());
  c.close();
  EXPECT_TRUE(c.is_closed());
  EXPECT_THROW(c.send(3), weft::channel_closed);
  EXPECT_THROW(static_cast<void>(c.try_send(3)), weft::channel_closed);
  EXPECT_THROW(static_cast<void>(c.send_for(3, 1s)), weft::channel_closed);
  EXPECT_EQ(c.recv(), 1);
  EXPECT_EQ(*c.try_recv(), 2);
  EXPECT_EQ(c.recv(), std::nullopt);
  EXPECT_EQ(c.try_recv().error(), errc::closed);
  EXPECT_EQ(c.recv_for(1s).error(), errc::closed);
  EXPECT_FALSE(c.try_close());
  try {
    c.close();
    FAIL();
  } catch (const std::logic_error& e) {
    EXPECT_STREQ(e.what(), "close of closed channel");
  }
}

TEST(chan, limits_in_the_past_act_at_once) {
  auto c = weft::make_chan<int>(1);
  EXPECT_EQ(c.recv_for(0s).error(), errc::timed_out);
  EXPECT_EQ(c.recv_until(std::chrono::steady_clock::now() - 1h).error(), errc::timed_out);
  EXPECT_EQ(c.recv_until(std::chrono::system_clock::now() - 1h).error(), errc::timed_out);
  EXPECT_TRUE(c.send_for(1, -5s));   // room: no waiting
  EXPECT_TRUE(c.send_for(2, 0s) == errc::timed_out);
  EXPECT_EQ(*c.recv_for(0s), 1);
}

TEST(chan, a_stop_request_that_came_before_wins) {
  auto c = weft::make_chan<int>(2);
  c.send(1);
  std::stop_source stop;
  EXPECT_TRUE(c.send(2, stop.get_token()));
  stop.request_stop();
  EXPECT_EQ(c.recv(stop.get_token()).error(), errc::stopped);
  EXPECT_TRUE(c.send(3, stop.get_token()) == errc::stopped);
  EXPECT_EQ(c.size(), 2u);
  EXPECT_EQ(*c.recv(std::stop_token()), 1);   // a token without a source never stops
}

// ---- what travels ----

struct empty {};
struct wide {   // trivially copyable, too large for the slots
  std::array<std::uint64_t, 20> words;
};
struct alignas(32) aligned {
  std::uint64_t a, b;
};

template <class T>
void through(T first, T second) {
  for (int capacity : {0, 1, 2}) {
    auto c = weft::make_chan<T>(capacity);
    with_procs(2, [&] {
      weft::go([c, first, second] {
        c.send(first);
        c.send(second);
        c.close();
      });
      EXPECT_TRUE(*c.recv() == first);
      EXPECT_TRUE(*c.recv() == second);
      EXPECT_FALSE(c.recv());
    });
  }
}

TEST(chan, values_of_every_size) {
  through<char>('a', 'b');
  through<short>(1, 2);
  through<int>(1, -2);
  through<double>(1.5, 2.5);
  through<std::array<char, 3>>({1, 2, 3}, {4, 5, 6});
  through<std::array<long, 2>>({1, 2}, {3, 4});
  through<std::array<long, 8>>({1, 2, 3, 4, 5, 6, 7, 8}, {8, 7, 6, 5, 4, 3, 2, 1});
  through<std::array<long, 9>>({1, 2, 3, 4, 5, 6, 7, 8, 9}, {9});
  through<std::string>("a", std::string(100, 'b'));
  through<std::deque<int>>({1, 2, 3}, {});
  through<std::shared_ptr<int>>(std::make_shared<int>(1), nullptr);
}

TEST(chan, empty_wide_and_aligned_values) {
  with_procs(2, [] {
    auto e = weft::make_chan<empty>(2);
    e.send({});
    e.send({});
    EXPECT_TRUE(e.try_send({}) == errc::full);
    EXPECT_TRUE(e.recv().has_value());
    auto w = weft::make_chan<wide>();
    auto a = weft::make_chan<aligned>();
    weft::go([=] {
      wide v{};
      v.words[19] = 7;
      w.send(v);
      a.send({1, 2});
    });
    EXPECT_EQ(w.recv()->words[19], 7u);
    auto got = a.recv();
    EXPECT_EQ(got->a + got->b, 3u);
  });
}

struct counted {   // counts the living, throws on demand
  static inline int alive = 0;
  static inline bool copy_throws = false;
  int id;
  explicit counted(int i) : id(i) { ++alive; }
  counted(const counted& o) : id(o.id) {
    if (copy_throws) throw std::runtime_error("copy");
    ++alive;
  }
  counted(counted&& o) noexcept : id(std::exchange(o.id, -1)) { ++alive; }
  counted& operator=(counted&& o) noexcept {
    id = std::exchange(o.id, -1);
    return *this;
  }
  ~counted() { --alive; }
};

TEST(chan, values_left_over_are_destroyed_with_the_last_handle) {
  counted::alive = 0;
  {
    auto c = weft::make_chan<counted>(5);
    c.send(counted(0));
    static_cast<void>(c.recv());
    for (int i = 0; i < 5; ++i) c.send(counted(i));   // the ring has turned
    EXPECT_EQ(counted::alive, 5);
    auto other = c;
    c = {};
    EXPECT_EQ(counted::alive, 5);
  }
  EXPECT_EQ(counted::alive, 0);
}

TEST(chan, a_copy_that_throws_leaves_the_channel_as_it_was) {
  counted::alive = 0;
  {
    auto c = weft::make_chan<counted>(2);
    const counted v(1);
    ASSERT_TRUE(c.try_send(v));
    counted::copy_throws = true;
    EXPECT_THROW(static_cast<void>(c.try_send(v)), std::runtime_error);
    EXPECT_THROW(static_cast<void>(c.send_for(v, 1s)), std::runtime_error);
    counted::copy_throws = false;
    EXPECT_EQ(c.size(), 1u);
    EXPECT_EQ(c.recv()->id, 1);
    EXPECT_EQ(c.try_recv().error(), errc::empty);
  }
  EXPECT_EQ(counted::alive, 0);
}

TEST(chan, a_value_is_moved_only_if_it_is_sent) {
  auto c = weft::make_chan<std::unique_ptr<int>>(1);
  auto a = std::make_unique<int>(1), b = std::make_unique<int>(2);
  EXPECT_TRUE(c.try_send(std::move(a)));
  EXPECT_EQ(a, nullptr);
  EXPECT_TRUE(c.try_send(std::move(b)) == errc::full);
  ASSERT_NE(b, nullptr);
  EXPECT_TRUE(c.send_for(std::move(b), 1ms) == errc::timed_out);
  ASSERT_NE(b, nullptr);
  std::stop_source stop;
  stop.request_stop();
  EXPECT_TRUE(c.send(std::move(b), stop.get_token()) == errc::stopped);
  ASSERT_NE(b, nullptr);
  c.close();
  EXPECT_THROW(static_cast<void>(c.try_send(std::move(b))), weft::channel_closed);
  ASSERT_NE(b, nullptr);
  EXPECT_EQ(*b, 2);
}

struct sends_itself {   // its copy constructor uses a channel
  weft::chan<int> log;
  sends_itself(weft::chan<int> c) : log(std::move(c)) {}
  sends_itself(const sends_itself& o) : log(o.log) { log.send(1); }
  sends_itself(sends_itself&& o) : log(o.log) { log.send(2); }   // not noexcept: it may throw
};

TEST(chan, a_value_may_use_channels_while_it_is_copied) {
  with_procs(2, [] {
    auto log = weft::make_chan<int>();
    auto c = weft::make_chan<sends_itself>(1);
    int copies = 0;
    weft::go([=] {
      c.send(sends_itself(log));   // parks in its own move constructor
      c.close();
    });
    weft::go([=] {
      while (c.recv()) {
      }
      log.close();
    });
    while (log.recv()) ++copies;
    EXPECT_GE(copies, 2);
  });
}

// ---- waiting ----

TEST(chan, a_goroutine_waits_for_the_other_side) {
  for_each_procs([] {
    auto c = weft::make_chan<int>();
    weft::go([c] {
      for (int i = 0; i < 100; ++i) c.send(i);
      c.close();
    });
    int sum = 0;
    while (auto v = c.recv()) sum += *v;
    EXPECT_EQ(sum, 4950);
  });
}

TEST(chan, threads_and_goroutines_meet) {
  constexpr int n = 2000;
  with_procs(2, [] {
    auto in = weft::make_chan<int>(), out = weft::make_chan<int>(3);
    std::thread t([=] {
      for (int v : in) out.send(v + 1);
      out.close();
    });
    weft::go([=] {
      for (int i = 0; i < n; ++i) in.send(i);
      in.close();
    });
    long sum = 0;
    for (int v : out) sum += v;
    EXPECT_EQ(sum, n * (n + 1L) / 2);
    t.join();
  });
}

TEST(chan, two_threads_without_a_world) {
  constexpr int n = 2000;
  auto c = weft::make_chan<int>(), back = weft::make_chan<int>();
  std::thread t([=] {
    for (int v : c) back.send(v);
    back.close();
  });
  for (int i = 0; i < n; ++i) {
    c.send(i);
    ASSERT_EQ(back.recv(), i);
  }
  c.close();
  EXPECT_EQ(back.recv(), std::nullopt);
  t.join();
}

TEST(chan, a_wait_ends_at_its_deadline_and_leaves_no_trace) {
  for_each_procs([] {
    auto c = weft::make_chan<int>();
    const auto before = std::chrono::steady_clock::now();
    EXPECT_EQ(c.recv_for(5ms).error(), errc::timed_out);
    EXPECT_TRUE(c.send_for(1, 5ms) == errc::timed_out);
    EXPECT_GE(std::chrono::steady_clock::now() - before, 10ms);
    EXPECT_TRUE(c.try_send(1) == errc::full);   // no receiver is left in the queue
    EXPECT_EQ(c.try_recv().error(), errc::empty);
    weft::go([c] { c.send(2); });
    EXPECT_EQ(*c.recv_for(1h), 2);
    weft::go([c] { EXPECT_EQ(c.recv(), 3); c.send(4); });
    EXPECT_TRUE(c.send_for(3, 1h));
    EXPECT_EQ(c.recv(), 4);
  });
}

TEST(chan, a_wait_ends_with_a_stop_request) {
  for_each_procs([] {
    auto c = weft::make_chan<int>(), done = weft::make_chan<int>();
    std::stop_source stop;
    weft::go([=, token = stop.get_token()] {
      EXPECT_EQ(c.recv(token).error(), errc::stopped);
      done.send(1);
    });
    weft::go([=, token = stop.get_token()] {
      EXPECT_EQ(weft::chan<int>().recv(token).error(), errc::stopped);
      done.send(1);
    });
    for (int i = 0; i < 20; ++i) weft::this_goroutine::yield();
    EXPECT_EQ(done.try_recv().error(), errc::empty);
    stop.request_stop();
    done.recv();
    done.recv();
  });
}

TEST(chan, close_wakes_everybody) {
  for_each_procs([] {
    auto c = weft::make_chan<int>(1), full = weft::make_chan<int>(1);
    full.send(0);
    auto done = weft::make_chan<int>();
    constexpr int n = 20;
    for (int i = 0; i < n; ++i) {
      weft::go([=] { done.send(c.recv() ? 1 : 0); });
      weft::go([=] { done.send(c.recv_for(1h).error() == errc::closed ? 0 : 1); });
      weft::go([=] {
        try {
          full.send(1);
          done.send(1);
        } catch (const weft::channel_closed&) {
          done.send(0);
        }
      });
      weft::go([=] {
        try {
          static_cast<void>(full.send_for(1, 1h));
          done.send(1);
        } catch (const weft::channel_closed&) {
          done.send(0);
        }
      });
    }
    for (int i = 0; i < 20; ++i) weft::this_goroutine::yield();
    c.close();
    full.close();
    for (int i = 0; i < 4 * n; ++i) EXPECT_EQ(done.recv(), 0);
    EXPECT_EQ(full.recv(), 0);
    EXPECT_FALSE(full.recv());
  });
}

// A value that races with the end of its receiver's wait goes to exactly one place.
TEST(chan, deadlines_lose_no_value) {
  const int rounds = weft_test::scaled(3000, 200);
  for_each_procs([=] {
    auto c = weft::make_chan<int>(), done = weft::make_chan<int>();
    weft::go([=] {
      for (int i = 0; i < rounds; ++i)
        while (!c.send_for(i, std::chrono::microseconds(1 + i % 7 * 5))) weft::this_goroutine::yield();
      done.close();
    });
    for (int expected = 0; expected < rounds;) {
      if (auto v = c.recv_for(std::chrono::microseconds(expected % 5 * 5)))
        ASSERT_EQ(*v, expected++);
      else
        weft::this_goroutine::yield();
    }
    EXPECT_FALSE(done.recv());
    EXPECT_EQ(c.try_recv().error(), errc::empty);
  });
}

TEST(chan, stop_requests_lose_no_value) {
  const int rounds = weft_test::scaled(1000, 100);
  for_each_procs([=] {
    auto c = weft::make_chan<std::string>(), ack = weft::make_chan<std::string>();
    for (int i = 0; i < rounds; ++i) {
      std::stop_source stop;
      weft::go([=, token = stop.get_token()] {
        auto v = c.recv(token);
        ack.send(v ? *v : "stopped");
      });
      weft::go([=]() mutable { stop.request_stop(); });
      const bool sent = c.try_send("value").has_value();
      EXPECT_EQ(*ack.recv(), sent ? "value" : "stopped");
    }
  });
}

TEST(chan, many_handles_are_counted_across_goroutines) {
  for_each_procs([] {
    for (int i = 0; i < 200; ++i) {
      auto reply = weft::make_chan<std::string>(1);
      weft::go([reply] { reply.send("x"); });
      EXPECT_EQ(*reply.recv(), "x");   // the last handle may die in either goroutine
    }
  });
}

}  // namespace
