// select_test.cpp — weft/select.hpp: which case fires, what happens to the others, waiting, limits.
#include "weft/select.hpp"

#include <algorithm>
#include <chrono>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "chan/select_order.hpp"
#include "support/weft_test.hpp"
#include "weft/go.hpp"

namespace {

using namespace std::chrono_literals;
using weft::nothing;
using weft::on_recv;
using weft::on_send;
using weft::on_stop;
using weft::on_timeout;
using weft::otherwise;
using weft_test::for_each_procs;
using weft_test::with_procs;

TEST(select, fires_the_case_that_can_go) {
  auto a = weft::make_chan<int>(1), b = weft::make_chan<int>(1);
  a.send(7);
  int got = 0;
  EXPECT_EQ(weft::select(on_recv(b, nothing), on_recv(a, [&](std::optional<int> v) { got = *v; })), 1u);
  EXPECT_EQ(got, 7);
  bool sent = false;
  b.send(1);
  EXPECT_EQ(weft::select(on_send(b, 5, nothing), on_recv(weft::chan<int>(), nothing),
                         on_send(a, 8, [&] { sent = true; })),
            2u);
  EXPECT_TRUE(sent);
  EXPECT_EQ(a.recv(), 8);
}

TEST(select, otherwise_only_if_nothing_can_go) {
  auto c = weft::make_chan<int>(1);
  EXPECT_EQ(weft::select(on_recv(c, nothing), otherwise(nothing)), 1u);
  EXPECT_EQ(weft::select(otherwise(nothing), on_send(c, 1, nothing)), 1u);
  EXPECT_EQ(weft::select(otherwise(nothing), on_send(c, 2, nothing)), 0u);
  EXPECT_EQ(weft::select(on_recv(c, nothing), on_send(c, 2, nothing), otherwise(nothing)), 0u);
  EXPECT_EQ(weft::select(otherwise(nothing)), 0u);
}

TEST(select, nil_channels_never_fire) {
  weft::chan<int> nil;
  EXPECT_EQ(weft::select(on_recv(nil, nothing), on_send(nil, 1, nothing), otherwise(nothing)), 2u);
  EXPECT_EQ(weft::select(on_recv(nil, nothing), on_send(nil, 1, nothing), on_timeout(1ms, nothing)), 2u);
  EXPECT_EQ(weft::select(on_timeout(1ms, nothing)), 0u);
}

TEST(select, closed_channels_fire) {
  auto c = weft::make_chan<int>(1);
  c.close();
  bool closed = false;
  weft::select(on_recv(c, [&](std::optional<int> v) { closed = !v; }));
  EXPECT_TRUE(closed);
  EXPECT_THROW(weft::select(on_send(c, 1, nothing)), weft::channel_closed);
  EXPECT_THROW(weft::select(on_send(c, 1, nothing), otherwise(nothing)), weft::channel_closed);
  EXPECT_THROW(
      weft::select(on_send(c, 1, nothing), on_recv(weft::chan<int>(), nothing), on_timeout(1h, nothing)),
      weft::channel_closed);
}

TEST(select, works_as_a_switch) {
  auto in = weft::make_chan<int>(9);
  for (int i = 0; i < 5; ++i) in.send(i);
  int sum = 0;
  for (;;) {
    std::optional<int> v;
    switch (weft::select(on_recv(in, [&](std::optional<int> x) { v = x; }), otherwise(nothing))) {
      case 0: sum += *v; continue;
      case 1: break;
    }
    break;
  }
  EXPECT_EQ(sum, 10);
}

TEST(select, values_are_moved_only_if_sent) {
  auto full = weft::make_chan<std::unique_ptr<int>>(), room = weft::make_chan<std::unique_ptr<int>>(1);
  auto a = std::make_unique<int>(1), b = std::make_unique<int>(2);
  EXPECT_EQ(weft::select(on_send(full, std::move(a), nothing), on_send(room, std::move(b), nothing)), 1u);
  ASSERT_NE(a, nullptr);
  EXPECT_EQ(*a, 1);
  EXPECT_EQ(b, nullptr);
  EXPECT_EQ(weft::select(on_send(full, std::move(a), nothing), on_timeout(1ms, nothing)), 1u);
  ASSERT_NE(a, nullptr);
  full.close();
  EXPECT_THROW(weft::select(on_send(full, std::move(a), nothing)), weft::channel_closed);
  ASSERT_NE(a, nullptr);
  const std::string text = "kept";
  auto s = weft::make_chan<std::string>(2);
  weft::select(on_send(s, text, nothing));
  weft::select(on_send(s, "literal", nothing));
  EXPECT_EQ(s.recv(), "kept");
  EXPECT_EQ(s.recv(), "literal");
}

struct throws_on_copy {
  throws_on_copy() = default;
  throws_on_copy(const throws_on_copy&) { throw std::runtime_error("copy"); }
  throws_on_copy(throws_on_copy&&) noexcept {}
};

TEST(select, a_copy_that_throws_does_nothing) {
  auto c = weft::make_chan<throws_on_copy>(1);
  auto p = weft::make_chan<std::unique_ptr<int>>(1);
  throws_on_copy v;
  auto q = std::make_unique<int>(1);
  EXPECT_THROW(weft::select(on_send(p, std::move(q), nothing), on_send(c, v, nothing)), std::runtime_error);
  EXPECT_NE(q, nullptr);
  EXPECT_EQ(p.size() + c.size(), 0u);
}

TEST(select, an_exception_of_a_handler_comes_out) {
  auto c = weft::make_chan<int>(1);
  EXPECT_THROW(weft::select(on_send(c, 1, [] { throw std::runtime_error("handler"); })), std::runtime_error);
  EXPECT_EQ(c.recv(), 1);
}

TEST(select, waits_for_the_first) {
  for_each_procs([] {
    auto a = weft::make_chan<int>(), done = weft::make_chan<int>();
    auto b = weft::make_chan<std::string>();
    weft::go([=] {
      for (int i = 0; i < 100; ++i) {
        if (i % 2 == 0)
          a.send(i);
        else
          b.send(std::to_string(i));
      }
      done.close();
    });
    int sum = 0;
    for (bool more = true; more;)
      weft::select(on_recv(a, [&](std::optional<int> v) { sum += *v; }),
                   on_recv(b, [&](std::optional<std::string> v) { sum += std::stoi(*v); }),
                   on_recv(done, [&] { more = false; }));
    EXPECT_EQ(sum, 4950);
  });
}

TEST(select, sends_to_whoever_receives) {
  for_each_procs([] {
    auto a = weft::make_chan<std::string>();
    auto b = weft::make_chan<int>(), sum = weft::make_chan<int>();
    weft::go([=] {
      int n = 0;
      for (auto& s : a) n += static_cast<int>(s.size());
      sum.send(n);
    });
    weft::go([=] {
      int n = 0;
      for (int v : b) n += v;
      sum.send(n);
    });
    int to_a = 0, to_b = 0;
    for (int i = 0; i < 200; ++i)
      weft::select(on_send(a, "x", [&] { ++to_a; }), on_send(b, 1, [&] { ++to_b; }));
    a.close();
    b.close();
    EXPECT_EQ(*sum.recv() + *sum.recv(), 200);
    EXPECT_EQ(to_a + to_b, 200);
  });
}

TEST(select, two_selects_meet) {
  for_each_procs([] {
    auto a = weft::make_chan<int>(), b = weft::make_chan<int>(), done = weft::make_chan<int>();
    const int rounds = weft_test::scaled(2000, 200);
    weft::go([=] {
      int sent = 0;
      for (int i = 0; i < rounds; ++i)
        weft::select(on_send(a, 1, [&] { ++sent; }), on_send(b, 1, [&] { ++sent; }));
      done.send(sent);
    });
    int got = 0;
    for (int i = 0; i < rounds; ++i)
      weft::select(on_recv(b, [&] { ++got; }), on_recv(a, [&] { ++got; }));
    EXPECT_EQ(got, rounds);
    EXPECT_EQ(done.recv(), rounds);
  });
}

TEST(select, a_wait_that_lost_leaves_no_trace) {
  for_each_procs([] {
    auto a = weft::make_chan<int>(), b = weft::make_chan<int>();
    for (int i = 0; i < 50; ++i) {
      weft::go([a] { a.send(1); });
      EXPECT_EQ(weft::select(on_recv(a, nothing), on_recv(b, nothing), on_send(b, 1, nothing)), 0u);
      EXPECT_TRUE(b.try_send(1) == weft::errc::full);
      EXPECT_EQ(b.try_recv().error(), weft::errc::empty);
    }
  });
}

TEST(select, timeouts) {
  for_each_procs([] {
    auto c = weft::make_chan<int>();
    const auto before = std::chrono::steady_clock::now();
    EXPECT_EQ(weft::select(on_recv(c, nothing), on_timeout(5ms, nothing)), 1u);
    EXPECT_GE(std::chrono::steady_clock::now() - before, 5ms);
    // Of several the earliest counts; one that never comes does not.
    EXPECT_EQ(weft::select(on_timeout(1h, nothing), on_timeout(1ms, nothing), on_recv(c, nothing),
                           on_timeout(std::chrono::hours::max(), nothing)),
              1u);
    EXPECT_EQ(weft::select(on_timeout(std::chrono::steady_clock::now() + 1ms, nothing), on_recv(c, nothing)),
              0u);
    // <= 0: as otherwise.
    EXPECT_EQ(weft::select(on_timeout(0s, nothing), on_recv(c, nothing)), 0u);
    auto ready = weft::make_chan<int>(1);
    ready.send(1);
    EXPECT_EQ(weft::select(on_timeout(-1s, nothing), on_recv(ready, nothing)), 1u);
    weft::go([c] { c.send(1); });
    EXPECT_EQ(weft::select(on_timeout(1h, nothing), on_recv(c, nothing)), 1u);
  });
}

TEST(select, stop_requests) {
  for_each_procs([] {
    auto c = weft::make_chan<int>(), ready = weft::make_chan<int>(1);
    std::stop_source stop;
    weft::go([stop]() mutable {
      for (int i = 0; i < 10; ++i) weft::this_goroutine::yield();
      stop.request_stop();
    });
    EXPECT_EQ(weft::select(on_recv(c, nothing), on_stop(stop.get_token(), nothing)), 1u);
    // Requested before: one more case that can go, neither starved nor starving.
    int stopped = 0, received = 0;
    for (int i = 0; i < 200; ++i) {
      if (ready.size() == 0) ready.send(1);
      weft::select(on_recv(ready, [&] { ++received; }), on_stop(stop.get_token(), [&] { ++stopped; }),
                   on_timeout(1h, nothing));
    }
    EXPECT_GT(stopped, 50);
    EXPECT_GT(received, 50);
    EXPECT_EQ(weft::select(on_stop(stop.get_token(), nothing), otherwise(nothing)), 0u);
  });
}

TEST(select, on_plain_threads) {
  auto a = weft::make_chan<int>(), b = weft::make_chan<int>();
  std::thread t([=] {
    for (int i = 0; i < 500; ++i) weft::select(on_send(a, i, nothing), on_send(b, i, nothing));
    a.close();
  });
  int n = 0;
  for (bool more = true; more;)
    weft::select(on_recv(a, [&](std::optional<int> v) { v ? void(++n) : void(more = false); }),
                 on_recv(b, [&] { ++n; }), on_timeout(1h, nothing));
  EXPECT_EQ(n, 500);
  t.join();
}

// ---- the orders ----

TEST(select_order, permutations_are_equally_likely) {
  weft::rt::select_case cases[4];
  auto c = weft::make_chan<int>();
  auto* core = weft::detail::chan_access::core(c);
  for (int i : {0, 1, 3}) cases[i].core = core;   // 2 is nil
  weft::rt::random_source random(7);
  std::map<std::vector<std::uint32_t>, int> seen;
  constexpr int trials = 24000;
  const std::uint32_t extra = 4;
  for (int i = 0; i < trials; ++i) {
    std::uint32_t order[5];
    ASSERT_EQ(weft::rt::make_poll_order(cases, 4, &extra, order, random), 4u);
    ++seen[{order, order + 4}];
  }
  EXPECT_EQ(seen.size(), 24u);   // of 0, 1, 3 and the extra one
  for (auto& [order, n] : seen) EXPECT_NEAR(n, trials / 24, 200);
}

TEST(select_order, locks_are_sorted_by_address_and_unique) {
  weft::rt::random_source random(3);
  for (std::uint32_t n : {0u, 1u, 2u, 5u, 12u, 13u, 100u, 5000u}) {
    std::vector<weft::rt::select_case> cases(n);
    std::vector<weft::rt::chan_core*> order(n);
    std::set<weft::rt::chan_core*> channels;
    for (auto& c : cases) {   // some nil, some twice
      c.core = reinterpret_cast<weft::rt::chan_core*>(std::uintptr_t{64} * random.below(n));
      if (c.core) channels.insert(c.core);
    }
    order.resize(weft::rt::make_lock_order(cases.data(), n, order.data()));
    EXPECT_TRUE(std::ranges::equal(order, channels));
  }
}

}  // namespace
