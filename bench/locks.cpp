// locks.cpp — one mutex and many goroutines; and, for tuning, the paths on which nobody waits.
#include <optional>

#include "report.hpp"
#include "weft/chan.hpp"
#include "weft/go.hpp"
#include "weft/mutex.hpp"
#include "weft/select.hpp"
#include "weft/wait_group.hpp"
#include "workloads.hpp"

namespace bench {

namespace {

constexpr auto ignore = [](std::optional<long>) {};

}  // namespace

void mutex_16() {
  constexpr long n = 4'000'000, goroutines = 16;
  weft::mutex lock;
  weft::wait_group all_done;
  long counter = 0;
  const auto start = clock::now();
  for (long i = 0; i < goroutines; ++i) {
    all_done.add(1);
    weft::go([&] {
      for (long k = 0; k < n / goroutines; ++k) {
        lock.lock();
        ++counter;
        lock.unlock();
      }
      all_done.done();
    });
  }
  all_done.wait();
  report("mutex_16").ops(n, clock::now() - start);
  require(counter == n, "mutex_16", "the counter under the mutex");
}

void mutex_1() {
  constexpr long n = 20'000'000;
  weft::mutex lock;
  const auto start = clock::now();
  for (long i = 0; i < n; ++i) {
    lock.lock();
    lock.unlock();
  }
  report("mutex_1").ops(n, clock::now() - start);
}

void chan_local() {
  constexpr long n = 20'000'000;
  auto values = weft::make_chan<long>(1);
  const auto start = clock::now();
  for (long i = 0; i < n; ++i) {
    values.send(i);
    values.recv();
  }
  report("chan_local").ops(n, clock::now() - start);
}

void select_local() {
  constexpr long n = 10'000'000;
  auto ready = weft::make_chan<long>(1), never = weft::make_chan<long>();
  const auto start = clock::now();
  for (long i = 0; i < n; ++i) {
    ready.send(i);
    weft::select(weft::on_recv(ready, ignore), weft::on_recv(never, ignore));
  }
  report("select_local").ops(n, clock::now() - start);
}

}  // namespace bench
