// memory_test.cpp — what many goroutines leave behind: field cases of memory after a spike and of mappings.
#include <algorithm>
#include <atomic>

#include "field.hpp"
#include "weft/chan.hpp"
#include "weft/go.hpp"
#include "weft/this_goroutine.hpp"

using namespace field;
using weft::this_goroutine::sleep_for;
using weft::this_goroutine::yield;

namespace {

[[gnu::noinline]] void touch_stack() {
  volatile char page[4096];
  for (std::size_t i = 0; i < sizeof page; i += 256) page[i] = 1;
}

// n goroutines that have touched 4 KiB of stack wait at once, then end. Calls f while they wait.
template <class F>
void spike(int n, F f) {
  auto release = weft::make_chan<int>();
  std::atomic<int> waiting{0}, ended{0};
  for (int i = 0; i < n; ++i)
    weft::go([&] {
      touch_stack();
      waiting.fetch_add(1, std::memory_order_relaxed);
      release.recv();
      ended.fetch_add(1);
    });
  while (waiting.load(std::memory_order_relaxed) < n) yield();
  f();
  release.close();
  while (ended.load() < n) yield();
}

}  // namespace

// The memory of dead goroutines goes back to the system; the next spike uses what is there.
TEST(field, F124) {
  if (slowdown > 1) GTEST_SKIP() << "a sanitizer keeps memory of its own";
  with_procs(2, [] {
    const auto room = kernel_figure("/proc/meminfo", "MemAvailable:") / 2 / 10'000;   // over two pages each
    const int n = static_cast<int>(std::min<std::int64_t>(200'000, room));
    const std::int64_t before = resident();
    std::int64_t first = 0, second = 0;
    spike(n, [&] { first = resident() - before; });
    const auto end = clock::now() + 10s;
    while (resident() - before > first * 15 / 100 && clock::now() < end) sleep_for(100ms);
    EXPECT_LE(resident() - before, first * 15 / 100) << "of a peak of " << first;
    spike(n, [&] { second = resident() - before; });
    EXPECT_LE(second, first * 110 / 100);
  });
}

// A hundred thousand stacks must not use up the 65,530 mappings that a process may have.
TEST(field, F127) {
  with_procs(2, [] {
    const int n = scaled(100'000, 5'000);
    std::int64_t lines = 0;
    spike(n, [&] {
      std::ifstream maps("/proc/self/maps");
      lines = std::count(std::istreambuf_iterator<char>(maps), {}, '\n');
    });
    EXPECT_GT(lines, 0);
    EXPECT_LT(lines, 60'000);
  });
}
