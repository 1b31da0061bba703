// chan_range_test.cpp — a channel as an input range: lazy, single pass, loses nothing.
#include <algorithm>
#include <memory>
#include <ranges>
#include <string>
#include <vector>

#include "support/weft_test.hpp"
#include "weft/chan.hpp"
#include "weft/go.hpp"

namespace {

static_assert(std::ranges::input_range<weft::chan<int>>);
static_assert(std::ranges::input_range<const weft::recv_chan<std::unique_ptr<int>>>);
static_assert(std::ranges::view<weft::recv_chan<std::string>>);
static_assert(!std::ranges::forward_range<weft::chan<int>>);
static_assert(!std::ranges::sized_range<weft::chan<int>>);   // size() is what is buffered, not what will come
static_assert(!std::ranges::range<weft::send_chan<int>>);

weft::chan<int> filled(int n) {
  auto c = weft::make_chan<int>(n);
  for (int i = 0; i < n; ++i) c.send(i);
  return c;
}

TEST(chan_range, ends_when_closed_and_empty) {
  auto c = filled(5);
  c.close();
  std::vector<int> got;
  for (int v : c) got.push_back(v);
  EXPECT_EQ(got, (std::vector{0, 1, 2, 3, 4}));
  for (int v : c) FAIL() << v;
}

TEST(chan_range, waits_for_values) {
  weft_test::for_each_procs([] {
    auto c = weft::make_chan<std::string>();
    weft::go([c] {
      for (int i = 0; i < 10; ++i) c.send(std::to_string(i));
      c.close();
    });
    std::string all;
    for (std::string& s : c) all += std::move(s);
    EXPECT_EQ(all, "0123456789");
  });
}

TEST(chan_range, leaving_the_loop_loses_nothing) {
  auto c = filled(6);
  for (int v : c)
    if (v == 2) break;
  EXPECT_EQ(c.size(), 3u);
  EXPECT_EQ(c.recv(), 3);
}

TEST(chan_range, an_increment_passes_over_one_value) {
  auto c = filled(6);
  auto it = c.begin();
  EXPECT_EQ(c.size(), 6u);   // nothing yet
  EXPECT_EQ(*it, 0);
  EXPECT_EQ(*it, 0);
  ++it;
  EXPECT_EQ(c.size(), 5u);   // still lazy
  ++it;                      // not looked at: 1 is dropped
  EXPECT_EQ(*it, 2);
  std::ranges::advance(it, 2);
  EXPECT_EQ(*it, 4);
}

TEST(chan_range, algorithms) {
  auto c = filled(6);
  c.close();
  EXPECT_EQ(*std::ranges::find_if(c, [](int v) { return v == 3; }), 3);
  EXPECT_EQ(std::ranges::count_if(c, [](int) { return true; }), 2);
}

#if !defined(__clang__) || __clang_major__ >= 16   // earlier ones cannot compile libstdc++'s views
TEST(chan_range, take_takes_no_more) {
  auto c = filled(6);
  std::vector<int> got;
  for (int v : c | std::views::take(3)) got.push_back(v);
  EXPECT_EQ(got, (std::vector{0, 1, 2}));
  EXPECT_EQ(c.size(), 3u);
  for (int v : c | std::views::take(1)) got.push_back(v);
  EXPECT_EQ(got.back(), 3);
}

TEST(chan_range, take_from_an_empty_one_waits_for_no_more) {
  weft_test::for_each_procs([] {
    auto c = weft::make_chan<int>();
    weft::go([c] {
      for (int i = 0; i < 3; ++i) c.send(i);   // and then nobody closes it
    });
    int n = 0;
    for ([[maybe_unused]] int v : c | std::views::take(3)) ++n;
    EXPECT_EQ(n, 3);
  });
}

TEST(chan_range, adaptors_chain) {
  auto c = filled(10);
  c.close();
  std::vector<int> got;
  for (int v : c | std::views::filter([](int x) { return x % 2 == 1; }) |
                   std::views::transform([](int x) { return x * 10; }))
    got.push_back(v);
  EXPECT_EQ(got, (std::vector{10, 30, 50, 70, 90}));
}
#endif

}  // namespace
