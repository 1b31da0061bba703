// thread_limit.cpp — more goroutines than the limit allows threads.
//
//   thread_limit blocked PROCS LIMIT    all in a call that does not return: Go's fatal error
//   thread_limit busy PROCS LIMIT       all compute: they have their turns
//   thread_limit mixed PROCS LIMIT      all but two threads are in such a call: the others compute on
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "weft/go.hpp"
#include "weft/runtime.hpp"
#include "weft/this_goroutine.hpp"
#include "weft/wait_group.hpp"

namespace {

int ends[2];

void block() {
  char c;
  while (read(ends[0], &c, 1) < 0) continue;
}

void compute() {
  const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(15);
  while (std::chrono::steady_clock::now() < end) continue;
}

void start(weft::wait_group& all, int n, void (*f)()) {
  for (int i = 0; i < n; ++i) {
    all.add(1);
    weft::go([&all, f] {
      f();
      all.done();
    });
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4 || pipe(ends) != 0) return 1;
  const int limit = std::atoi(argv[3]);
  const bool blocked = std::strcmp(argv[1], "blocked") == 0, mixed = std::strcmp(argv[1], "mixed") == 0;
  weft::run({.maxprocs = std::atoi(argv[2]), .max_threads = limit}, [&] {
    weft::wait_group busy, stuck;
    start(stuck, blocked ? 2 * limit : mixed ? limit - 2 : 0, block);
    start(busy, 60, compute);
    busy.wait();
    if (!blocked) close(ends[1]);
    stuck.wait();
  });
  std::puts("done");
}
