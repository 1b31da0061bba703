// test_chan_forms_test.cpp — Go's test/chan/select3-5,7, perm, zerosize, and test/chancap, closedchan: which
// forms of an operation wait, which go on, which throw.
#include <array>
#include <functional>
#include <stdexcept>
#include <string>

#include "support/weft_test.hpp"
#include "weft/chan.hpp"
#include "weft/go.hpp"
#include "weft/select.hpp"

namespace {

using weft::nothing;
using weft::on_recv;
using weft::on_send;
using weft::otherwise;
using weft_test::for_each_procs;

// Whether f has returned after everybody else had a turn. One that waits is left behind.
bool waits(std::function<void()> f) {
  auto done = weft::make_chan<int>(1);
  weft::go([=] {
    f();
    done.send(1);
  });
  for (int i = 0; i < 50; ++i) weft::this_goroutine::yield();
  if (!done.try_recv()) return true;
  return false;
}
// One that must not wait is waited for, however long it takes.
void goes_on(std::function<void()> f) {
  auto done = weft::make_chan<int>();
  weft::go([=] {
    f();
    done.send(1);
  });
  done.recv();
}
template <class F>
std::string what_it_throws(F f) {
  try {
    f();
  } catch (const std::exception& e) {
    return e.what();
  }
  return "nothing";
}
const char* const sending_on_closed = "send on closed channel";

TEST(test_chan, select3) {
  for_each_procs([] {
    const weft::chan<int> nil;
    auto closed = weft::make_chan<int>();
    closed.close();
    // nil: waits for ever, with otherwise not at all
    EXPECT_TRUE(waits([=] { nil.send(7); }));
    EXPECT_TRUE(waits([=] { nil.recv(); }));
    EXPECT_TRUE(waits([=] { weft::select(on_send(nil, 7, nothing)); }));
    EXPECT_TRUE(waits([=] { weft::select(on_recv(nil, nothing)); }));
    EXPECT_TRUE(waits([] { weft::select(); }));
    goes_on([=] {
      EXPECT_EQ(weft::select(on_send(nil, 7, nothing), on_recv(nil, nothing), otherwise(nothing)), 2u);
    });
    // closed
    goes_on([=] { EXPECT_EQ(what_it_throws([=] { closed.send(7); }), sending_on_closed); });
    goes_on([=] { EXPECT_EQ(closed.recv(), std::nullopt); });
    goes_on([=] {
      EXPECT_EQ(what_it_throws([=] { weft::select(on_send(closed, 7, nothing)); }), sending_on_closed);
    });
    goes_on([=] {
      EXPECT_EQ(what_it_throws([=] { weft::select(on_send(closed, 7, nothing), otherwise(nothing)); }),
                sending_on_closed);
    });
    goes_on([=] { EXPECT_EQ(weft::select(on_recv(closed, nothing), otherwise(nothing)), 0u); });
    // unbuffered, nobody there
    EXPECT_TRUE(waits([] { weft::make_chan<int>().send(7); }));
    EXPECT_TRUE(waits([] { weft::make_chan<int>().recv(); }));
    EXPECT_TRUE(waits([] { weft::select(on_send(weft::make_chan<int>(), 7, nothing)); }));
    // buffered: empty, with something, full
    EXPECT_TRUE(waits([] { weft::make_chan<int>(10).recv(); }));
    goes_on([] { weft::make_chan<int>(10).send(7); });
    goes_on([] {
      auto c = weft::make_chan<int>(10);
      c.send(7);
      EXPECT_EQ(c.recv(), 7);
    });
    EXPECT_TRUE(waits([] {
      auto c = weft::make_chan<int>(1);
      c.send(7);
      c.send(8);
    }));
    // of several cases those that cannot go do not matter
    goes_on([=] { weft::select(on_recv(nil, nothing), on_send(nil, 1, nothing), on_recv(closed, nothing)); });
    EXPECT_TRUE(
        waits([=] { weft::select(on_recv(nil, nothing), on_send(weft::make_chan<int>(), 1, nothing)); }));
  });
}

TEST(test_chan, select4) {
  for_each_procs([] {
    auto c = weft::make_chan<int>(1), c1 = weft::make_chan<int>();
    c.send(42);
    int got = 0;
    weft::select(on_recv(c1, [] { FAIL(); }), on_recv(c, [&](std::optional<int> v) { got = *v; }));
    EXPECT_EQ(got, 42);
  });
}

// Every form of a select with one case that can go: alone, among others that cannot, with otherwise, in each
// position.
template <class T>
void all_forms(const T& value) {
  auto never = weft::make_chan<T>();
  const weft::chan<T> nil;
  auto c = weft::make_chan<T>(1);
  auto send = [&] { return on_send(c, value, nothing); };
  auto expect_one = [&] {
    ASSERT_EQ(c.size(), 1u);
    std::optional<T> got;
    auto recv = [&] { return on_recv(c, [&](std::optional<T> v) { got = std::move(v); }); };
    switch (value.size() % 3) {
      case 0: weft::select(recv()); break;
      case 1: weft::select(on_recv(never, nothing), recv(), on_send(nil, value, nothing)); break;
      case 2: weft::select(otherwise(nothing), on_recv(nil, nothing), recv()); break;
    }
    EXPECT_TRUE(got == value);
    EXPECT_EQ(c.size(), 0u);
  };
  EXPECT_EQ(weft::select(send()), 0u);
  expect_one();
  EXPECT_EQ(weft::select(send(), otherwise(nothing)), 0u);
  expect_one();
  EXPECT_EQ(weft::select(otherwise(nothing), send()), 1u);
  expect_one();
  EXPECT_EQ(weft::select(on_recv(never, nothing), send()), 1u);
  expect_one();
  EXPECT_EQ(weft::select(on_send(nil, value, nothing), on_recv(never, nothing), send(), otherwise(nothing)),
            2u);
  expect_one();
  EXPECT_EQ(weft::select(send(), on_send(never, value, nothing), on_recv(nil, nothing)), 0u);
  expect_one();
}

TEST(test_chan, select5) {
  for_each_procs([] {
    for (const char* s : {"abc", "abcd", "abcde"}) {
      all_forms<std::string>(s);
      all_forms<std::string_view>(s);
    }
  });
}

// Each form of a receive meets each form of a send.
TEST(test_chan, select7) {
  using form = std::function<void(weft::chan<int>)>;
  const form receives[] = {
      [](auto c) { EXPECT_EQ(c.recv(), 1); },
      [](auto c) { weft::select(on_recv(c, [](std::optional<int> v) { EXPECT_EQ(v, 1); })); },
      [](auto c) {
        auto other = weft::make_chan<int>();
        weft::select(on_recv(c, [](std::optional<int> v) { EXPECT_EQ(v, 1); }),
                     on_recv(other, [] { FAIL(); }));
      },
      [](auto c) { EXPECT_EQ(*c.recv_for(std::chrono::hours(1)), 1); },
      [](auto c) {
        while (!c.try_recv()) weft::this_goroutine::yield();
      }};
  const form sends[] = {
      [](auto c) { c.send(1); },
      [](auto c) { weft::select(on_send(c, 1, nothing)); },
      [](auto c) {
        auto other = weft::make_chan<int>();
        weft::select(on_send(c, 1, nothing), on_send(other, 2, [] { FAIL(); }));
      },
      [](auto c) { EXPECT_TRUE(c.send_for(1, std::chrono::hours(1))); },
      [](auto c) {
        while (!c.try_send(1)) weft::this_goroutine::yield();
      }};
  for_each_procs([&] {
    for (int r = 0; r < 5; ++r)
      for (int s = 0; s < 5; ++s) {
        if (r == 4 && s == 4) continue;   // two that never wait never meet
        for (bool receiver_first : {true, false}) {
          auto c = weft::make_chan<int>(), done = weft::make_chan<int>();
          auto receive = [&, f = receives[r]] { weft::go([=] { f(c); done.send(1); }); };
          auto send = [&, f = sends[s]] { weft::go([=] { f(c); done.send(1); }); };
          receiver_first ? receive() : send();
          weft::this_goroutine::yield();
          receiver_first ? send() : receive();
          done.recv();
          done.recv();
        }
      }
  });
}

template <class C>
concept can_send = requires(C c) { c.send(1); };
template <class C>
concept can_receive = requires(C c) { c.recv(); };
template <class C>
concept can_close = requires(C c) { c.close(); };

TEST(test_chan, perm) {   // what Go's compiler refuses, the types refuse
  using both = weft::chan<int>;
  using out = weft::send_chan<int>;
  using in = weft::recv_chan<int>;
  static_assert(can_send<both> && can_receive<both> && can_close<both>);
  static_assert(can_send<out> && !can_receive<out> && can_close<out>);
  static_assert(!can_send<in> && can_receive<in> && !can_close<in>);
  static_assert(std::is_convertible_v<both, out> && std::is_convertible_v<both, in>);
  static_assert(!std::is_convertible_v<out, both> && !std::is_convertible_v<in, both>);
  static_assert(!std::is_convertible_v<out, in> && !std::is_convertible_v<in, out>);
  static_assert(!std::is_convertible_v<weft::chan<int>, weft::chan<long>>);
  static_assert(!std::ranges::range<out> && std::ranges::range<in>);
}

TEST(test_chan, zerosize) {
  for_each_procs([] {
    struct nothing_in_it {};
    auto a = weft::make_chan<nothing_in_it>(3);
    auto b = weft::make_chan<std::array<int, 0>>();
    for (int i = 0; i < 3; ++i) a.send({});
    EXPECT_EQ(a.size(), 3u);
    EXPECT_TRUE(a.recv());
    weft::go([b] { b.send({}); });
    EXPECT_TRUE(b.recv());
  });
}

TEST(test_chan, chancap) {
  weft::chan<int> nil;
  EXPECT_EQ(nil.size(), 0u);
  EXPECT_EQ(nil.capacity(), 0u);
  auto c = weft::make_chan<int>(10);
  EXPECT_EQ(c.capacity(), 10u);
  EXPECT_EQ(c.size(), 0u);
  for (int i = 0; i < 3; ++i) c.send(i);
  EXPECT_EQ(c.size(), 3u);
  EXPECT_EQ(c.capacity(), 10u);
  EXPECT_EQ(weft::make_chan<int>().capacity(), 0u);
  auto bad = [](auto n) {
    return what_it_throws([=] { static_cast<void>(weft::make_chan<int>(static_cast<std::ptrdiff_t>(n))); });
  };
  EXPECT_EQ(bad(-1), "makechan: size out of range");
  EXPECT_EQ(bad(std::uint64_t{1} << 63), "makechan: size out of range");
  EXPECT_EQ(bad(std::int64_t{1} << 59), "makechan: size out of range");
  EXPECT_EQ(bad(INT64_MAX), "makechan: size out of range");
}

void closed_channel(weft::chan<int> c, int values) {
  ASSERT_EQ(c.is_closed(), true);
  for (int i = 0; i < values; ++i) {
    switch (i % 3) {
      case 0: EXPECT_EQ(c.recv(), i); break;
      case 1: EXPECT_EQ(*c.try_recv(), i); break;
      case 2:
        weft::select(on_recv(c, [=](std::optional<int> v) { EXPECT_EQ(v, i); }), otherwise([] { FAIL(); }));
        break;
    }
  }
  for (int again = 0; again < 2; ++again) {
    EXPECT_EQ(c.recv(), std::nullopt);
    EXPECT_EQ(c.try_recv().error(), weft::errc::closed);
    weft::select(on_recv(c, [](std::optional<int> v) { EXPECT_FALSE(v); }));
    weft::select(on_recv(c, [](std::optional<int> v) { EXPECT_FALSE(v); }), otherwise([] { FAIL(); }));
    weft::select(on_recv(c, nothing), on_recv(weft::make_chan<int>(), [] { FAIL(); }));
    for (int v : c) FAIL() << v;
  }
  EXPECT_EQ(what_it_throws([=] { c.send(2); }), sending_on_closed);
  EXPECT_EQ(what_it_throws([=] { static_cast<void>(c.try_send(2)); }), sending_on_closed);
  EXPECT_EQ(what_it_throws([=] { weft::select(on_send(c, 2, nothing)); }), sending_on_closed);
  EXPECT_EQ(what_it_throws([=] { weft::select(on_send(c, 2, nothing), otherwise(nothing)); }),
            sending_on_closed);
  EXPECT_EQ(
      what_it_throws([=] { weft::select(on_send(c, 2, nothing), on_recv(weft::chan<int>(), nothing)); }),
      sending_on_closed);
  EXPECT_EQ(what_it_throws([=] { c.close(); }), "close of closed channel");
}

TEST(test_chan, closedchan) {
  for_each_procs([] {
    auto sync = weft::make_chan<int>();
    sync.close();
    closed_channel(sync, 0);
    for (int n : {0, 1, 5}) {
      auto async = weft::make_chan<int>(5);
      for (int i = 0; i < n; ++i) async.send(i);
      async.close();
      closed_channel(async, n);
    }
    EXPECT_EQ(what_it_throws([] { weft::chan<int>().close(); }), "close of nil channel");
  });
}

}  // namespace
