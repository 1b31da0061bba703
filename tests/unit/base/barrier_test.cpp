// barrier_test.cpp — the asymmetric barrier: of two threads that write and then look, one sees the other.
#include <gtest/gtest.h>

#include <thread>

#include "base/atomic.hpp"

namespace {

using namespace weft::rt;

void wait_for(const atomic<int>& turn, int value) {
  for (int spins = 0; turn.load(acquire) != value; ++spins) {
    if (spins > 2000) std::this_thread::yield();
  }
}

// Rounds of the pattern in atomic.hpp; returns how often neither side saw the other.
long missed(bool with_barriers, int rounds) {
  struct alignas(64) cell {
    atomic<int> v{0};
  };
  cell a, b, turn, seen_a;
  int seen_b = 0;
  long both_missed = 0;
  std::thread rare([&] {
    for (int i = 1; i <= rounds; ++i) {
      wait_for(turn.v, 2 * i - 1);
      b.v.store(i, relaxed);
      if (with_barriers) heavy_barrier();
      seen_a.v.store(a.v.load(relaxed), relaxed);
      turn.v.store(2 * i, release);
    }
  });
  for (int i = 1; i <= rounds; ++i) {
    turn.v.store(2 * i - 1, release);
    for (int delay = i % 512; delay > 0; --delay) std::atomic_signal_fence(seq_cst);   // all distances
    a.v.store(i, relaxed);
    if (with_barriers) light_barrier();
    seen_b = b.v.load(relaxed);
    wait_for(turn.v, 2 * i);
    both_missed += seen_a.v.load(relaxed) < i && seen_b < i;
  }
  rare.join();
  return both_missed;
}

TEST(barrier, one_side_sees_the_other) {
  barrier_init();
  barrier_init();
  EXPECT_EQ(missed(true, 20'000), 0);
}

TEST(barrier, real_fences_do_the_same) {
  bool before = asymmetric_barriers.load();
  asymmetric_barriers.store(false);
  EXPECT_EQ(missed(true, 20'000), 0);
  asymmetric_barriers.store(before);
}

}  // namespace
