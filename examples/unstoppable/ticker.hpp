// ticker.hpp — the evidence: a goroutine that ticks every 10 ms for a second, and what it saw.
#pragma once
#include <chrono>

#include "weft/weft.hpp"

namespace unstoppable {

using clock = std::chrono::steady_clock;

inline constexpr int expected_ticks = 100;
inline constexpr std::chrono::milliseconds tick_period{10};

struct rhythm {
  int ticks = 0;                  // those that came in time: a ticker drops what nobody receives
  clock::duration worst_gap{};    // between two ticks, or the start and the first
};

class ticking {
 public:
  ticking();                      // parks until the goroutine ticks
  rhythm until_done();            // waits for the end of the second
  // The destructor ends it early.

 private:
  weft::join_handle<rhythm> goroutine_;
};

}  // namespace unstoppable
