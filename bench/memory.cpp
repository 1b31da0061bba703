// memory.cpp — what a parked goroutine costs in memory, and what is given back after a million of them.
#include <atomic>

#include "report.hpp"
#include "weft/chan.hpp"
#include "weft/go.hpp"
#include "weft/this_goroutine.hpp"
#include "workloads.hpp"

namespace bench {

using namespace std::chrono_literals;

void mem_1m() {
  constexpr int n = 1'000'000;
  auto release = weft::make_chan<bool>();
  std::atomic<int> ready{0}, ended{0};
  const memory before = memory_now();
  const auto start = clock::now();
  for (int i = 0; i < n; ++i) {
    weft::go([&] {
      ready.fetch_add(1);
      release.recv();
      ended.fetch_add(1);
    });
  }
  while (ready.load() < n) weft::this_goroutine::yield();
  weft::this_goroutine::sleep_for(100ms);   // as the peers: the last of them park
  const auto took = clock::now() - start;
  const memory peak = memory_now();
  const auto resident = peak.resident - before.resident;
  const auto page_tables = peak.page_tables - before.page_tables;

  release.close();
  while (ended.load() < n) weft::this_goroutine::yield();
  weft::this_goroutine::sleep_for(5s);
  const auto left = memory_now().resident - before.resident;
  report("mem_1m")
      .ops(n, took)
      .figure("bytes_per_g", static_cast<double>(resident) / n)
      .figure("bytes_per_g_pt", static_cast<double>(resident + page_tables) / n)
      .figure("rss_after_pct", 100.0 * static_cast<double>(left) / static_cast<double>(resident), 1);
}

}  // namespace bench
