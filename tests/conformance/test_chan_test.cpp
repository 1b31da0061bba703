// test_chan_test.cpp — the programs of Go's test/chan and test/*.go about channels, restated. powser1 and
// powser2 are in test_chan_powser_test.cpp; what blocks and what throws (select3, closedchan, ...) in
// test_chan_forms_test.cpp.
#include <atomic>
#include <chrono>
#include <cstdio>
#include <functional>
#include <queue>
#include <unistd.h>
#include <vector>

#include "support/weft_test.hpp"
#include "weft/chan.hpp"
#include "weft/go.hpp"
#include "weft/select.hpp"
#include "weft/selector.hpp"

namespace {

using weft::nothing;
using weft::on_recv;
using weft::on_send;
using weft_test::for_each_procs;
using weft_test::scaled;
using weft_test::with_procs;

void yield_some(int n = 20) {
  for (int i = 0; i < n; ++i) weft::this_goroutine::yield();
}

// Two cases of one select never both complete: no value arrives twice.
TEST(test_chan, doubleselect) {
  const int n = scaled(50000, 1000);
  for_each_procs([=] {
    weft::chan<int> c[4];
    for (auto& ch : c) ch = weft::make_chan<int>();
    auto all = weft::make_chan<int>(), ended = weft::make_chan<int>();
    weft::go([=] {
      for (int i = 0; i < n; ++i)
        weft::select(on_send(c[0], i, nothing), on_send(c[1], i, nothing), on_send(c[2], i, nothing),
                     on_send(c[3], i, nothing));
      for (auto& ch : c) ch.close();
    });
    for (auto& ch : c)
      weft::go([=] {
        for (int v : ch) all.send(v);
        ended.send(1);
      });
    weft::go([=] {
      for (int i = 0; i < 4; ++i) ended.recv();
      all.close();
    });
    std::vector<bool> seen(n);
    int count = 0;
    for (int v : all) {
      ASSERT_FALSE(seen[v]) << "got " << v << " twice";
      seen[v] = true;
      ++count;
    }
    EXPECT_EQ(count, n);
  });
}

TEST(test_chan, fifo) {
  constexpr int n = 10;
  for_each_procs([] {
    auto buffered = weft::make_chan<int>(n);
    for (int i = 0; i < n; ++i) buffered.send(i);
    for (int i = 0; i < n; ++i) EXPECT_EQ(buffered.recv(), i);

    // Each goroutine receives when its predecessor has begun to wait; so it waits behind it.
    auto c = weft::make_chan<int>();
    auto before = weft::make_chan<int>();
    auto first = before;
    for (int i = 0; i < n; ++i) {
      auto after = weft::make_chan<int>();
      weft::go([=] {
        before.recv();
        EXPECT_EQ(c.recv(), i);
        after.send(1);
      });
      before = after;
    }
    first.send(0);
    for (int i = 0; i < n; ++i) c.send(i);
    before.recv();
  });
}

TEST(test_chan, goroutines) {
  const int n = weft_test::under_tsan ? 2000 : 10000;
  for_each_procs([=] {
    auto leftmost = weft::make_chan<int>();
    auto right = leftmost;
    for (int i = 0; i < n; ++i) {
      auto left = right;
      right = weft::make_chan<int>();
      weft::go([left, right] { left.send(*right.recv()); });
    }
    weft::go([right] { right.send(1); });
    EXPECT_EQ(leftmost.recv(), 1);
  });
}

template <class T>
void nonblocking_forms(const T& value) {
  for (int capacity : {0, 1}) {
    auto c = weft::make_chan<T>(capacity), done = weft::make_chan<T>();
    EXPECT_EQ(c.try_recv().error(), weft::errc::empty);
    weft::go([=] { done.send(*c.recv()); });
    for (;;) {
      if (c.try_send(value)) break;   // the receiver has come, or there is room
      weft::this_goroutine::yield();
    }
    EXPECT_TRUE(*done.recv() == value);
    weft::go([=] { c.send(value); });
    for (;;) {
      auto v = c.try_recv();
      if (v) {
        EXPECT_TRUE(*v == value);
        break;
      }
      weft::this_goroutine::yield();
    }
    if (capacity == 1) {
      EXPECT_TRUE(c.try_send(value));
    }
    EXPECT_TRUE(c.try_send(value) == weft::errc::full);
  }
}

TEST(test_chan, nonblock) {
  struct large {
    long words[50];
    bool operator==(const large& o) const { return words[0] == o.words[0] && words[49] == o.words[49]; }
  };
  for_each_procs([] {
    nonblocking_forms<std::int32_t>(123);
    nonblocking_forms<std::int64_t>(std::int64_t{1} << 40);
    nonblocking_forms<bool>(true);
    nonblocking_forms<std::string>("hello");
    large v{};
    v.words[49] = 4;
    nonblocking_forms<large>(v);
  });
}

TEST(test_chan, select) {
  for_each_procs([] {
    // One side shifts bits out by select over two channels, of which one is nil at a time.
    auto value = std::make_shared<unsigned>(0x5a5a5u);
    auto a = weft::make_chan<unsigned>(1), b = weft::make_chan<unsigned>(1);
    auto next = [&](weft::chan<unsigned>& c) {
      const unsigned v = *value & 0xf;
      *value >>= 4;
      if (*value == 0) c = {};
      return v;
    };
    std::vector<unsigned> got;
    for (auto sa = a, sb = b; *value != 0;) {
      weft::select(on_send(sa, next(sa), nothing), on_send(sb, *value & 0xf, [&] { *value >>= 4; }));
      while (auto v = a.try_recv()) got.push_back(*v);
      while (auto v = b.try_recv()) got.push_back(*v);
    }
    EXPECT_GE(got.size(), 3u);
    EXPECT_LE(got.size(), 5u);
  });
}

std::size_t resident_bytes() {
  std::size_t size = 0, resident = 0;
  if (std::FILE* f = std::fopen("/proc/self/statm", "r")) {
    [[maybe_unused]] int n = std::fscanf(f, "%zu %zu", &size, &resident);
    std::fclose(f);
  }
  return resident * static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
}

TEST(test_chan, select2) {
  const int n = scaled(100000, 1000);
  for_each_procs([=] {
    auto run = [](int count) {
      auto c = weft::make_chan<int>(), dummy = weft::make_chan<int>(), done = weft::make_chan<int>();
      weft::go([=] {
        for (int i = 0; i < count; ++i) weft::select(on_send(c, i, nothing), on_recv(dummy, [] { FAIL(); }));
        done.send(1);
      });
      weft::go([=] {
        for (int i = 0; i < count; ++i)
          weft::select(on_recv(c, [&](std::optional<int> v) { EXPECT_EQ(v, i); }),
                       on_recv(dummy, [] { FAIL(); }));
        done.send(1);
      });
      done.recv();
      done.recv();
    };
    run(n / 2);
    const std::size_t before = resident_bytes();
    run(n);
    if (!weft_test::under_tsan) {
      EXPECT_LT(resident_bytes(), before + 1100000);
    }
  });
}

// Waiters that are queued in front of, behind and around a select stay when the select goes.
TEST(test_chan, select6) {
  for_each_procs([] {
    auto c1 = weft::make_chan<bool>(), c2 = weft::make_chan<bool>(), c3 = weft::make_chan<bool>(),
         c4 = weft::make_chan<bool>();
    weft::go([=] { c1.recv(); });
    weft::go([=] {
      weft::select(on_recv(c1, [] { FAIL(); }), on_recv(c2, nothing));
      c3.send(true);
    });
    yield_some();
    weft::go([=] {
      c1.recv();
      c4.send(true);
    });
    yield_some();
    c2.send(true);   // ends the select
    c3.recv();
    c1.send(true);
    c1.send(true);
    c4.recv();
  });
}

// ---- whole programs ----

TEST(test_chan, sieve1) {
  const int primes[] = {2,  3,  5,  7,  11, 13, 17, 19, 23, 29, 31, 37, 41,
                        43, 47, 53, 59, 61, 67, 71, 73, 79, 83, 89, 97};
  for_each_procs([&] {
    auto c = weft::make_chan<int>();
    weft::go([c] {
      for (int i = 2;; ++i) c.send(i);
    });
    for (int prime : primes) {
      const int p = *c.recv();
      EXPECT_EQ(p, prime);
      auto rest = weft::make_chan<int>();
      weft::go([c, rest, p] {
        for (int v : c)
          if (v % p != 0) rest.send(v);
      });
      c = rest;
    }
  });
}

// The other way round: the composites, merged from one goroutine a prime, are what the candidates lack.
TEST(test_chan, sieve2) {
  struct head {
    long value;
    weft::chan<long> rest;
    bool operator<(const head& o) const { return value > o.value; }   // the smallest on top
  };
  const int limit = scaled(1000, 200);
  for_each_procs([=] {
    std::priority_queue<head> composites;
    std::vector<long> primes{2};
    auto multiples = [](long p) {
      auto c = weft::make_chan<long>(2);
      weft::go([c, p] {
        for (long v = p * p;; v += p) c.send(v);
      });
      return head{*c.recv(), c};
    };
    composites.push(multiples(2));
    for (long n = 3; n < limit; ++n) {
      bool composite = false;
      while (composites.top().value <= n) {
        head h = composites.top();
        composites.pop();
        composite |= h.value == n;
        h.value = *h.rest.recv();
        composites.push(h);
      }
      if (composite) continue;
      primes.push_back(n);
      composites.push(multiples(n));
    }
    for (std::size_t i = 0; i < primes.size(); ++i)
      for (std::size_t k = 0; k < i; ++k) ASSERT_NE(primes[i] % primes[k], 0);
    EXPECT_EQ(primes.size(), limit == 1000 ? 168u : 46u);
  });
}

// ---- cost ----

// n goroutines wait for one channel and another of their own, which wakes them from the middle of the common
// queue.
double seconds_with_waiters(int n) {
  auto common = weft::make_chan<bool>(), done = weft::make_chan<bool>(n);
  std::vector<weft::chan<bool>> own;
  for (int i = 0; i < n; ++i) {
    auto mine = own.emplace_back(weft::make_chan<bool>());
    weft::go([=] {
      weft::select(on_recv(common, nothing), on_recv(mine, nothing));
      done.send(true);
    });
  }
  weft::this_goroutine::yield();
  const auto start = std::chrono::steady_clock::now();
  for (int i = n - 1; i >= 0; --i) own[static_cast<std::size_t>(i)].send(true);
  for (int i = 0; i < n; ++i) done.recv();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

TEST(test_chan, chanlinear) {
  with_procs(1, [] {
    const int n = weft_test::under_tsan ? 200 : scaled(4000, 500);
    double best = 1e9;   // 8 times the waiters: linear is 8, quadratic 64
    for (int i = 0; i < 6 && best > 24; ++i) {
      const double few = seconds_with_waiters(n);
      best = std::min(best, seconds_with_waiters(8 * n) / few);
    }
    EXPECT_LT(best, 40);
  });
}

// ---- fixed bugs ----

// Many waiters of many selects come and go on channels that live on: each is taken out again.
TEST(fixedbugs, issue9110) {
  for_each_procs([] {
    constexpr int n = 100;
    const int rounds = scaled(20, 3);
    auto wanted = weft::make_chan<int>(), shared = weft::make_chan<int>();
    for (int r = 0; r < rounds; ++r) {
      std::vector<weft::chan<int>> own;
      auto done = weft::make_chan<int>(n);
      for (int i = 0; i < n; ++i) {
        auto mine = own.emplace_back(weft::make_chan<int>());
        weft::go([=] {
          weft::selector any;
          any.on_recv(shared, nothing);
          for (int k = 0; k < 10; ++k) any.on_recv(wanted, nothing);
          any.on_recv(mine, nothing);
          any.select();
          done.send(i);
        });
      }
      yield_some(3);
      for (auto& c : own) c.send(1);
      for (int i = 0; i < n; ++i) done.recv();
      EXPECT_TRUE(shared.try_send(1) == weft::errc::full);
      EXPECT_TRUE(wanted.try_send(1) == weft::errc::full);
    }
  });
}

TEST(fixedbugs, issue9321) {
  constexpr int parties = 10;
  const int each = scaled(1000, 50);
  for_each_procs([=] {
    auto total = std::make_shared<std::atomic<int>>(0);
    auto done = weft::make_chan<bool>();
    for (int p = 0; p < parties; ++p)
      weft::go([=] {
        for (int i = 0; i < each; ++i) {
          for (int v = total->load(); !total->compare_exchange_strong(v, v + 1);) {
          }
          weft::this_goroutine::yield();
        }
        done.send(true);
      });
    for (int p = 0; p < parties; ++p) done.recv();
    EXPECT_EQ(total->load(), parties * each);
  });
}

// A goroutine that only counts, and one that looks and yields. (With one processor: needs preemption by
// signal.)
TEST(fixedbugs, issue19182) {
  for (int procs : {2, 4, 8}) with_procs(procs, [] {
    static std::atomic<std::uint64_t> counter;
    static std::atomic<bool> stop;
    counter = 0;
    stop = false;
    weft::go([] {
      while (!stop.load(std::memory_order_relaxed)) counter.fetch_add(1, std::memory_order_relaxed);
    });
    while (counter.load() == 0) weft::this_goroutine::yield();
    stop = true;
    EXPECT_GT(counter.load(), 0u);
  });
}

}  // namespace
