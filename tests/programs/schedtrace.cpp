// schedtrace.cpp — some goroutines compute, some sleep, some wait, for half a second.
#include <chrono>

#include "weft/chan.hpp"
#include "weft/go.hpp"
#include "weft/runtime.hpp"
#include "weft/this_goroutine.hpp"

int main() {
  weft::run(weft::options{.maxprocs = 2}, [] {
    auto never = weft::make_chan<int>();
    auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(500);
    for (int i = 0; i < 20; ++i) {
      weft::go([end] {
        while (std::chrono::steady_clock::now() < end) weft::this_goroutine::yield();
      });
    }
    weft::go([never] { never.recv(); });
    weft::this_goroutine::sleep_until(end);
  });
}
