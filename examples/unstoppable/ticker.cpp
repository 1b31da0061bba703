// ticker.cpp — ticks, and the clock read at each.
#include "ticker.hpp"

#include <algorithm>

namespace unstoppable {

namespace {

rhythm tick(std::stop_token stop, weft::chan<bool> ready) {
  rhythm seen;
  const auto start = clock::now(), end = start + expected_ticks * tick_period;
  const weft::ticker ticker(tick_period);
  ready.close();
  for (auto last = start; last < end && !stop.stop_requested();) {
    ticker.chan().recv();
    const auto now = clock::now();
    seen.worst_gap = std::max(seen.worst_gap, now - last);
    ++seen.ticks;
    last = now;
  }
  return seen;
}

}  // namespace

ticking::ticking() {
  auto ready = weft::make_chan<bool>();
  goroutine_ = weft::spawn({.name = "ticker"}, tick, ready);
  ready.recv();
}

rhythm ticking::until_done() { return goroutine_.join(); }

}  // namespace unstoppable
