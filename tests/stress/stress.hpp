// stress.hpp — storms: random mixes of everything, with more processors than cores, again and again.
//
// A storm repeats rounds in fresh worlds of 1, 2, 4 and 8 processors until its share of the time is over: all
// storms together take WEFT_STRESS_SECONDS (12 by default). A round must end by itself; the watchdog ends one
// that hangs, with the dump of all goroutines. What a round does follows from its seed, except for how its
// goroutines interleave.
#pragma once
#include <chrono>
#include <cstdint>
#include <cstdlib>

#include "support/dice.hpp"
#include "support/weft_test.hpp"

namespace stress {

using clock = std::chrono::steady_clock;
using weft_test::dice;

inline clock::duration share_of_time() {
  const char* text = std::getenv("WEFT_STRESS_SECONDS");
  const double seconds = text ? std::atof(text) : 12;
  const int storms = ::testing::UnitTest::GetInstance()->test_to_run_count();
  return std::chrono::milliseconds(static_cast<long>(1000 * seconds / storms));
}

// Calls round(seed) as the main goroutine of one world after the other; all processor counts get at least
// one.
template <class F>
void storm(F round) {
  const auto end = clock::now() + share_of_time();
  std::uint64_t seed = 1;
  do {
    for (int procs : {1, 2, 4, 8}) {
      weft_test::with_procs(procs, [&] { round(seed); });
      if (::testing::Test::HasFailure()) {
        std::fprintf(stderr, "  seed %llu\n", static_cast<unsigned long long>(seed));
        return;
      }
      ++seed;
    }
  } while (clock::now() < end);
}

}  // namespace stress
