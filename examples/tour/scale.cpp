// scale.cpp — many goroutines at once: a million that wait, a hundred thousand that sleep.
#include <algorithm>
#include <atomic>
#include <vector>

#include "tour.hpp"
#include "weft/weft.hpp"

namespace tour {

using namespace std::chrono_literals;

namespace {

// A parked goroutine costs a page of stack, its own block and page tables; a third of the memory stays free.
constexpr long bytes_each = 6000;

long as_many_as_fit(long wanted) {
  const long fit = static_cast<long>(memory_available() / 3 * 2 / bytes_each);
  return fit >= wanted ? wanted : std::max(fit / 10'000 * 10'000, 10'000L);
}

}  // namespace

void many_goroutines() {
  constexpr long wanted = 1'000'000;
  const long n = as_many_as_fit(wanted);
  say("Each adds one to a counter and waits for a channel to close.");
  if (n < wanted)
    say("Memory is short (%.1f GB available): %s instead of %s.",
        static_cast<double>(memory_available()) / 1e9, grouped(n).c_str(), grouped(wanted).c_str());

  auto release = weft::make_chan<bool>();
  std::atomic<long> waiting{0}, ended{0};
  const std::int64_t resident_before = memory_resident();
  const auto start = clock::now();
  for (long i = 0; i < n; ++i)
    weft::go([&] {
      waiting.fetch_add(1, std::memory_order_relaxed);
      release.recv();
      ended.fetch_add(1, std::memory_order_release);
    });
  while (waiting.load(std::memory_order_relaxed) < n) weft::this_goroutine::yield();
  const auto started = clock::now() - start;
  const long alive = weft::num_goroutine();
  const long bytes = static_cast<long>(memory_resident() - resident_before) / n;
  check(alive >= n, "%s alive at once, started in %.2f s: %.0f ns and %s bytes of memory each",
        grouped(alive).c_str(), seconds(started), nanoseconds_each(started, n), grouped(bytes).c_str());

  const auto closing = clock::now();
  release.close();
  while (ended.load(std::memory_order_acquire) < n) weft::this_goroutine::yield();
  check(true, "closing the channel woke and ended all of them in %.2f s", seconds(clock::now() - closing));
}

void many_sleepers() {
  constexpr long sleepers = 100'000;
  say("%s goroutines sleep 1 to 1,000 ms each, once.", grouped(sleepers).c_str());
  std::vector<double> late_ms(sleepers);
  weft::wait_group awake;
  awake.add(sleepers);
  const auto start = clock::now();
  for (long i = 0; i < sleepers; ++i)
    weft::go([&, i] {
      const auto length = std::chrono::milliseconds(1 + i * 7919 % 1000);
      const auto due = clock::now() + length;
      weft::this_goroutine::sleep_for(length);
      late_ms[static_cast<std::size_t>(i)] = milliseconds(clock::now() - due);
      awake.done();
    });
  awake.wait();
  const auto took = clock::now() - start;
  std::ranges::sort(late_ms);
  check(late_ms.front() >= 0, "all awake after %.2f s, none too early", seconds(took));
  say("late by %.3f ms (median), %.3f ms (99 of 100), %.3f ms (the last)", late_ms[sleepers / 2],
      late_ms[sleepers / 100 * 99], late_ms.back());
}

}  // namespace tour
