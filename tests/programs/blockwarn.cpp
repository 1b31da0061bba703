// blockwarn.cpp — a goroutine blocks its thread in read(), one in weft::blocking; another ticks beside them.
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdio>

#include "weft/blocking.hpp"
#include "weft/go.hpp"
#include "weft/runtime.hpp"
#include "weft/this_goroutine.hpp"

int main() {
  weft::run({.maxprocs = 1}, [] {
    int ends[2];
    if (pipe(ends) != 0) return;
    std::atomic<bool> done{false};
    weft::go([&] {
      char c;
      done = read(ends[0], &c, 1) == 1;
    });
    weft::go([] { weft::blocking([] { usleep(50'000); }); });
    for (int i = 0; i < 50; ++i) weft::this_goroutine::sleep_for(std::chrono::milliseconds(2));
    if (write(ends[1], "x", 1) != 1) return;
    while (!done) weft::this_goroutine::sleep_for(std::chrono::milliseconds(1));
    std::puts("done");
  });
}
