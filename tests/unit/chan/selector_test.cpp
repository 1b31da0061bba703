// selector_test.cpp — weft/selector.hpp: sets of cases made at run time.
#include "weft/selector.hpp"

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "support/weft_test.hpp"
#include "weft/go.hpp"

namespace {

using namespace std::chrono_literals;
using weft::nothing;
using weft_test::for_each_procs;

TEST(selector, numbers_its_cases) {
  auto a = weft::make_chan<int>(1);
  auto b = weft::make_chan<std::string>(1);
  weft::selector any;
  int got = 0;
  EXPECT_EQ(any.on_recv(a, [&](std::optional<int> v) { got = *v; }), 0u);
  EXPECT_EQ(any.on_send(b, "x", nothing), 1u);
  EXPECT_EQ(any.size(), 2u);
  EXPECT_EQ(any.select(), 1u);
  EXPECT_EQ(any.try_select(), std::nullopt);
  EXPECT_EQ(any.select_for(1ms), std::nullopt);
  EXPECT_EQ(any.select_until(std::chrono::steady_clock::now()), std::nullopt);
  a.send(5);
  EXPECT_EQ(any.select(), 0u);
  EXPECT_EQ(got, 5);
  EXPECT_EQ(b.recv(), "x");
  EXPECT_EQ(any.try_select(), 1u);   // used again: sends another copy
  EXPECT_EQ(b.recv(), "x");
  b.close();
  EXPECT_THROW(any.select(), weft::channel_closed);
  any.clear();
  EXPECT_EQ(any.size(), 0u);
  EXPECT_EQ(any.try_select(), std::nullopt);
}

TEST(selector, a_value_that_cannot_be_copied_is_sent_once) {
  auto c = weft::make_chan<std::unique_ptr<int>>(1);
  weft::selector any;
  any.on_send(c, std::make_unique<int>(3), nothing);
  c.send(nullptr);
  EXPECT_EQ(any.try_select(), std::nullopt);   // full: it keeps the value
  c.recv();
  EXPECT_EQ(any.try_select(), 0u);
  EXPECT_EQ(**c.recv(), 3);
  EXPECT_EQ(any.try_select(), std::nullopt);
}

TEST(selector, keeps_its_channels_alive) {
  weft::selector any;
  weft::send_chan<std::string> in;
  {
    auto c = weft::make_chan<std::string>(1);
    in = c;
    any.on_recv(c, [](std::optional<std::string> s) { EXPECT_EQ(*s, "alive"); });
  }
  in.send("alive");
  in = {};
  EXPECT_EQ(any.select(), 0u);
}

TEST(selector, stops) {
  for_each_procs([] {
    std::stop_source stop;
    auto c = weft::make_chan<int>();
    weft::selector any;
    any.on_recv(c, nothing);
    bool stopped = false;
    any.on_stop(stop.get_token(), [&] { stopped = true; });
    weft::go([c] { c.send(1); });
    EXPECT_EQ(any.select(), 0u);
    weft::go([stop]() mutable { stop.request_stop(); });
    EXPECT_EQ(any.select(), 1u);
    EXPECT_TRUE(stopped);
    EXPECT_EQ(any.try_select(), 1u);
  });
}

TEST(selector, many_channels_from_many_goroutines) {
  for_each_procs([] {
    constexpr int n = 100;
    const int each = weft_test::scaled(50, 10);
    weft::selector any;
    int sum = 0, open = n;
    for (int i = 0; i < n; ++i) {
      auto c = weft::make_chan<int>(i % 3);
      weft::go([=] {
        for (int k = 0; k < each; ++k) c.send(1);
        c.close();
      });
      any.on_recv(c, [&, left = each](std::optional<int> v) mutable {
        if (v) {
          ++sum;
          --left;
        } else if (left == 0) {
          --open;
          left = -1;   // closed channels go on firing
        }
      });
    }
    while (open > 0) any.select();
    EXPECT_EQ(sum, n * each);
  });
}

TEST(selector, as_many_cases_as_go_allows) {
  weft_test::with_procs(2, [] {
    weft::selector any;
    std::vector<weft::chan<int>> chans;
    const std::size_t n = weft::rt::most_select_cases;
    for (std::size_t i = 0; i < n; ++i) any.on_recv(chans.emplace_back(weft::make_chan<int>()), nothing);
    EXPECT_THROW(any.on_recv(chans[0], nothing), std::length_error);
    EXPECT_EQ(any.try_select(), std::nullopt);
    for (std::size_t pick : {n - 1, n - 2, n - 3, std::size_t{0}, n / 2}) {
      weft::go([c = chans[pick]] { c.send(1); });
      EXPECT_EQ(any.select(), pick);
    }
  });
}

}  // namespace
