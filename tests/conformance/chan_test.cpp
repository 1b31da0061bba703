// chan_test.cpp — Go's runtime/chan_test.go, restated. Not here, because C++ has no moving stacks and no
// collector: TestShrinkStackDuringBlockedSend, TestNoShrinkStackWhileParking, TestSelectStackAdjust,
// TestChanSendBarrier, TestChanSendSelectBarrier.
#include <any>
#include <atomic>
#include <cmath>
#include <string>
#include <vector>

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
using weft_test::scaled;

void yield_some(int n = 20) {
  for (int i = 0; i < n; ++i) weft::this_goroutine::yield();
}

void receive_from_empty_waits(int capacity) {
  auto c = weft::make_chan<int>(capacity);
  auto received = weft::make_chan<int>(2);
  weft::go([=] { received.send(*c.recv()); });
  weft::go([=] { received.send(*c.recv()); });
  yield_some();
  EXPECT_EQ(received.size(), 0u) << "receive from empty channel did not wait";
  // Those that do not wait, on a channel that nobody else uses.
  auto other = weft::make_chan<int>(capacity);
  EXPECT_EQ(other.try_recv().error(), weft::errc::empty);
  EXPECT_EQ(weft::select(on_recv(other, nothing), otherwise(nothing)), 1u);
  c.send(0);
  c.send(0);
  received.recv();
  received.recv();
}

void send_to_full_waits(int capacity) {
  auto c = weft::make_chan<int>(capacity);
  for (int i = 0; i < capacity; ++i) c.send(i);
  auto sent = weft::make_chan<int>(1);
  weft::go([=] {
    c.send(0);
    sent.send(1);
  });
  yield_some();
  EXPECT_EQ(sent.size(), 0u) << "send to full channel did not wait";
  auto other = weft::make_chan<int>(capacity);
  for (int i = 0; i < capacity; ++i) other.send(i);
  EXPECT_TRUE(other.try_send(0) == weft::errc::full);
  EXPECT_EQ(weft::select(on_send(other, 0, nothing), otherwise(nothing)), 1u);
  for (int i = 0; i < capacity; ++i) EXPECT_EQ(c.recv(), i);
  EXPECT_EQ(c.recv(), 0);
  sent.recv();
}

void values_survive_close(int capacity) {
  auto c = weft::make_chan<int>(capacity);
  for (int i = 0; i < capacity; ++i) c.send(i);
  c.close();
  for (int i = 0; i < capacity; ++i) EXPECT_EQ(c.recv(), i);
  EXPECT_EQ(c.recv(), std::nullopt);
  EXPECT_EQ(c.recv(), std::nullopt);

  auto waiting = weft::make_chan<int>(capacity), done = weft::make_chan<int>();
  weft::go([=] { done.send(waiting.recv() ? 1 : 0); });
  yield_some(2);
  waiting.close();
  EXPECT_EQ(done.recv(), 0) << "a waiting receiver was not woken by close";
}

void hundred_in_order(int capacity) {
  auto c = weft::make_chan<int>(capacity);
  weft::go([c] {
    for (int i = 0; i < 100; ++i) c.send(i);
  });
  for (int i = 0; i < 100; ++i) ASSERT_EQ(c.recv(), i);
}

void each_exactly_once(int capacity) {
  constexpr int parties = 4;
  const int each = scaled(1000, 50);
  auto c = weft::make_chan<int>(capacity);
  auto counts = weft::make_chan<std::vector<int>>();
  for (int p = 0; p < parties; ++p)
    weft::go([=] {
      for (int i = 0; i < each; ++i) c.send(i);
    });
  for (int p = 0; p < parties; ++p)
    weft::go([=] {
      std::vector<int> seen(each);
      for (int i = 0; i < each; ++i) {
        const int v = *c.recv();
        if (v < 0 || v >= each)
          ADD_FAILURE() << v;
        else
          ++seen[v];
      }
      counts.send(std::move(seen));
    });
  std::vector<int> total(each);
  for (int p = 0; p < parties; ++p) {
    auto seen = *counts.recv();
    for (int i = 0; i < each; ++i) total[i] += seen[i];
  }
  for (int i = 0; i < each; ++i) ASSERT_EQ(total[i], parties);
}

TEST(chan_test, TestChan) {
  const int most = scaled(200, 20);
  for_each_procs([=] {
    for (int capacity = 0; capacity < most; ++capacity) {
      receive_from_empty_waits(capacity);
      send_to_full_waits(capacity);
      values_survive_close(capacity);
      hundred_in_order(capacity);
      if (capacity % 10 < 2) each_exactly_once(capacity);
      auto c = weft::make_chan<int>(capacity);
      EXPECT_EQ(c.size(), 0u);
      EXPECT_EQ(c.capacity(), static_cast<std::size_t>(capacity));
      for (int i = 0; i < capacity; ++i) c.send(i);
      EXPECT_EQ(c.size(), static_cast<std::size_t>(capacity));
    }
  });
}

TEST(chan_test, TestNonblockRecvRace) {
  const int n = scaled(10000, 200);
  for_each_procs([=] {
    for (int i = 0; i < n; ++i) {
      auto c = weft::make_chan<int>(1), done = weft::make_chan<int>();
      c.send(1);
      weft::go([=] {
        if (c.try_recv() == weft::errc::empty) ADD_FAILURE() << "chan is not ready";
        done.close();
      });
      c.close();
      c.recv();
      done.recv();
      if (testing::Test::HasFailure()) return;
    }
  });
}

TEST(chan_test, TestNonblockSelectRace) {
  const int n = scaled(10000, 200);
  for_each_procs([=] {
    auto done = weft::make_chan<bool>(1);
    for (int i = 0; i < n; ++i) {
      auto c1 = weft::make_chan<int>(1), c2 = weft::make_chan<int>(1);
      c1.send(1);
      weft::go([=] {
        done.send(weft::select(on_recv(c1, nothing), on_recv(c2, nothing), otherwise(nothing)) != 2);
      });
      c2.send(1);
      static_cast<void>(c1.try_recv());
      ASSERT_TRUE(*done.recv()) << "no chan is ready";
    }
  });
}

// The same, but the second channel becomes ready by being closed.
TEST(chan_test, TestNonblockSelectRace2) {
  const int n = scaled(10000, 200);
  for_each_procs([=] {
    auto done = weft::make_chan<bool>(1);
    for (int i = 0; i < n; ++i) {
      auto c1 = weft::make_chan<int>(1), c2 = weft::make_chan<int>();
      c1.send(1);
      weft::go([=] {
        done.send(weft::select(on_recv(c1, nothing), on_recv(c2, nothing), otherwise(nothing)) != 2);
      });
      c2.close();
      static_cast<void>(c1.try_recv());
      ASSERT_TRUE(*done.recv()) << "no chan is ready";
    }
  });
}

TEST(chan_test, TestSelfSelect) {
  const int n = scaled(1000, 100);
  for_each_procs([=] {
    for (int capacity : {0, 10}) {
      auto c = weft::make_chan<int>(capacity), done = weft::make_chan<int>();
      for (int p = 0; p < 2; ++p)
        weft::go([=] {
          for (int i = 0; i < n; ++i) {
            auto check = [&](std::optional<int> v) {
              if (capacity == 0 && *v == p) ADD_FAILURE() << "self receive";
            };
            if (p == 0 || i % 2 == 0)
              weft::select(on_send(c, p, nothing), on_recv(c, check));
            else
              weft::select(on_recv(c, check), on_send(c, p, nothing));
          }
          done.send(p);
        });
      // One may be left alone with nobody to meet: take part until both are done.
      for (int ended = 0; ended < 2;)
        weft::select(on_recv(done, [&] { ++ended; }), on_recv(c, nothing), on_send(c, 2, nothing));
    }
  });
}

TEST(chan_test, TestSelectStress) {
  const int n = scaled(20000, 500);
  for_each_procs([=] {
    weft::chan<int> c[4] = {weft::make_chan<int>(), weft::make_chan<int>(), weft::make_chan<int>(2),
                            weft::make_chan<int>(3)};
    auto done = weft::make_chan<int>();
    for (int k = 0; k < 4; ++k) {   // plain operations, one goroutine a channel and direction
      weft::go([=, ck = c[k]] {
        for (int i = 0; i < n; ++i) ck.send(0);
        done.send(1);
      });
      weft::go([=, ck = c[k]] {
        for (int i = 0; i < n; ++i) ck.recv();
        done.send(1);
      });
    }
    weft::go([=] {   // selects that send on all; a channel that has had its share becomes nil
      weft::chan<int> s[4] = {c[0], c[1], c[2], c[3]};
      int sent[4] = {};
      auto one = [&](int k) {
        if (++sent[k] == n) s[k] = {};
      };
      for (int i = 0; i < 4 * n; ++i)
        weft::select(on_send(s[3], 0, [&] { one(3); }), on_send(s[2], 0, [&] { one(2); }),
                     on_send(s[0], 0, [&] { one(0); }), on_send(s[1], 0, [&] { one(1); }));
      done.send(1);
    });
    weft::go([=] {
      weft::chan<int> r[4] = {c[0], c[1], c[2], c[3]};
      int got[4] = {};
      auto one = [&](int k) {
        if (++got[k] == n) r[k] = {};
      };
      for (int i = 0; i < 4 * n; ++i)
        weft::select(on_recv(r[0], [&] { one(0); }), on_recv(r[1], [&] { one(1); }),
                     on_recv(r[2], [&] { one(2); }), on_recv(r[3], [&] { one(3); }));
      done.send(1);
    });
    for (int i = 0; i < 10; ++i) done.recv();
  });
}

TEST(chan_test, TestSelectFairness) {
  static constexpr int trials = 10000;
  for_each_procs([] {
    auto c1 = weft::make_chan<std::uint8_t>(trials + 1), c2 = weft::make_chan<std::uint8_t>(trials + 1);
    for (int i = 0; i < trials + 1; ++i) {
      c1.send(1);
      c2.send(2);
    }
    auto never1 = weft::make_chan<std::uint8_t>(), never2 = weft::make_chan<std::uint8_t>();
    int first = 0, second = 0;
    for (int i = 0; i < trials; ++i)
      weft::select(on_recv(never1, [] { FAIL(); }), on_recv(never2, [] { FAIL(); }),
                   on_recv(c1, [&] { ++first; }), on_recv(c2, [&] { ++second; }));
    const double ten_sigma = 10 * std::sqrt(trials * 0.25);
    EXPECT_LT(std::abs(first - trials / 2.0), ten_sigma);
    EXPECT_EQ(first + second, trials);
  });
}

TEST(chan_test, TestChanSendInterface) {
  for_each_procs([] {
    auto c = weft::make_chan<std::any>(1);
    c.send(std::string("value"));
    EXPECT_EQ(weft::select(on_send(c, std::any(1), nothing), otherwise(nothing)), 1u);
    EXPECT_EQ(
        weft::select(on_send(c, std::any(1), nothing), on_send(c, std::any(2), nothing), otherwise(nothing)),
        2u);
    EXPECT_EQ(std::any_cast<std::string>(*c.recv()), "value");
    EXPECT_EQ(weft::select(on_send(c, std::any(7), nothing), otherwise(nothing)), 0u);
    EXPECT_EQ(std::any_cast<int>(*c.recv()), 7);
  });
}

TEST(chan_test, TestPseudoRandomSend) {
  constexpr int n = 100;
  for_each_procs([] {
    for (int capacity = 0; capacity < n; capacity += 9) {
      auto c = weft::make_chan<int>(capacity), done = weft::make_chan<int>();
      weft::go([=] {
        int zeros = 0;
        for (int i = 0; i < n; ++i) {
          weft::this_goroutine::yield();
          zeros += *c.recv() == 0;
        }
        done.send(zeros);
      });
      for (int i = 0; i < n; ++i) weft::select(on_send(c, 0, nothing), on_send(c, 1, nothing));
      const int zeros = *done.recv();
      EXPECT_GT(zeros, n / 10) << "want pseudorandom, capacity " << capacity;
      EXPECT_LT(zeros, n - n / 10) << "want pseudorandom, capacity " << capacity;
    }
  });
}

TEST(chan_test, TestMultiConsumer) {
  constexpr int workers = 23;
  const int items = scaled(271828, 5000);
  for_each_procs([=] {
    const int primes[] = {2, 3, 7, 11, 13, 17, 19, 23, 27, 31};
    auto q = weft::make_chan<int>(workers * 3), r = weft::make_chan<int>(workers * 3);
    auto left = std::make_shared<std::atomic<int>>(workers);
    for (int w = 0; w < workers; ++w)
      weft::go([=] {
        for (int v : q) {
          if (primes[v % 10] % 7 == w % 7) weft::this_goroutine::yield();
          r.send(v);
        }
        if (left->fetch_sub(1) == 1) r.close();
      });
    auto expected = weft::make_chan<long>(1);
    weft::go([=] {
      long sum = 0;
      for (int i = 0; i < items; ++i) {
        const int v = primes[i % 10];
        sum += v;
        q.send(v);
      }
      q.close();
      expected.send(sum);
    });
    int n = 0;
    long sum = 0;
    for (int v : r) {
      ++n;
      sum += v;
    }
    EXPECT_EQ(n, items);
    EXPECT_EQ(sum, expected.recv());
  });
}

TEST(chan_test, TestSelectDuplicateChannel) {
  for_each_procs([] {
    auto c = weft::make_chan<int>(), d = weft::make_chan<int>(), e = weft::make_chan<int>();
    weft::go([=] {   // A waits in c twice, and is woken by d
      weft::select(on_recv(c, nothing), on_recv(c, nothing), on_recv(d, nothing));
      e.send(9);
    });
    yield_some();
    weft::go([=] { c.recv(); });   // B waits behind A
    yield_some();
    d.send(7);   // A leaves the queue of c, twice
    e.recv();
    c.send(8);   // B gets it: no stale waiter of A is in its way
  });
}

}  // namespace
