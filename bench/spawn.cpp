// spawn.cpp — starting goroutines, waiting for them, and yielding.
#include "report.hpp"
#include "weft/chan.hpp"
#include "weft/go.hpp"
#include "weft/join_handle.hpp"
#include "weft/this_goroutine.hpp"
#include "weft/wait_group.hpp"
#include "workloads.hpp"

namespace bench {

void spawn() {
  constexpr int n = 2'000'000;
  weft::wait_group all_done;
  const auto start = clock::now();
  all_done.add(n);
  for (int i = 0; i < n; ++i) weft::go([&all_done] { all_done.done(); });
  all_done.wait();
  report("spawn").ops(n, clock::now() - start);
}

void spawn_join() {
  constexpr int n = 500'000;
  const auto start = clock::now();
  for (int i = 0; i < n; ++i) {
    weft::spawn([] {}).join();
  }
  report("spawn_join").ops(n, clock::now() - start);
}

namespace {

void yield(const char* name, int goroutines) {
  constexpr int total = 10'000'000;
  weft::wait_group all_done;
  const auto start = clock::now();
  for (int i = 0; i < goroutines; ++i) {
    all_done.add(1);
    weft::go([&all_done, mine = total / goroutines] {
      for (int k = 0; k < mine; ++k) weft::this_goroutine::yield();
      all_done.done();
    });
  }
  all_done.wait();
  report(name).ops(total, clock::now() - start);
}

}  // namespace

void yield_1() { yield("yield_1", 1); }
void yield_2() { yield("yield_2", 2); }
void yield_1000() { yield("yield_1000", 1000); }

}  // namespace bench
