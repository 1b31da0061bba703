// urgent.cpp — a program with a handler of its own for SIGURG, from before run(). Prints how many of its own
// signals it got, and how many of the runtime's.
#include <signal.h>
#include <stdio.h>

#include <atomic>
#include <chrono>

#include "weft/go.hpp"
#include "weft/runtime.hpp"
#include "weft/this_goroutine.hpp"

namespace {

std::atomic<int> mine{0}, others{0};
std::atomic<bool> stop{false};   // outlives the world: the loop may see it later than main returns

void on_urgent(int, siginfo_t* info, void*) { ++(info->si_code == SI_TKILL ? mine : others); }

}  // namespace

int main() {
  struct sigaction action {};
  action.sa_sigaction = on_urgent;
  action.sa_flags = SA_SIGINFO;
  sigaction(SIGURG, &action, nullptr);
  weft::run({.maxprocs = 1}, [] {
    weft::go([] {
      while (!stop.load(std::memory_order_relaxed)) continue;
    });
    for (int i = 0; i < 20; ++i) {
      weft::this_goroutine::sleep_for(std::chrono::milliseconds(1));
      raise(SIGURG);
    }
    stop = true;
  });
  printf("%d %d\n", mine.load(), others.load());
}
