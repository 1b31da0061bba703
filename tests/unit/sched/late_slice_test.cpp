// late_slice_test.cpp — who asks for the end of a slice means one that has lasted.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdlib>

#include "event/event.hpp"
#include "support/weft_test.hpp"
#include "weft/go.hpp"
#include "weft/this_goroutine.hpp"
#include "weft/wait_group.hpp"

namespace {

using namespace std::chrono_literals;
using weft::rt::event;

std::atomic<std::uint64_t> watched{0};
std::atomic<int> preempted{0};

void count_preemptions(event what, std::uint64_t subject, std::uint64_t) noexcept {
  if (what == event::goroutine_preempt && subject == watched) ++preempted;
}

// Small ones, and some for which the kernel is asked.
void allocate_until(const std::atomic<bool>& stop) {
  for (std::size_t i = 0; !stop; ++i) {
    auto* bytes = static_cast<volatile char*>(std::malloc(i % 16 == 0 ? 300'000 : 100));
    bytes[0] = 1;
    std::free(const_cast<char*>(bytes));
  }
}

// Returns how often it was preempted although it had hardly run.
int sleep_often(int times) {
  using clock = std::chrono::steady_clock;
  int wrongly = 0;
  watched = weft::this_goroutine::id();
  for (auto woke = clock::now(); times > 0; --times) {
    const int before = preempted;
    const auto ran = clock::now() - woke;            // not if the kernel has kept it from running
    weft::this_goroutine::sleep_for(2ms);
    woke = clock::now();
    wrongly += ran < 200us && preempted != before;
  }
  return wrongly;
}

// A fork keeps all the others waiting in the kernel and in malloc, and new threads from coming: sleepers wake
// late, on an M that has just got the processor. All that this one does is to sleep again. The goroutines
// that have kept it waiting are preempted, it is not.
TEST(late_slice, IsNotThatOfTheSleeper) {
  int wrongly = 0;
  weft_test::with_procs(1, [&] {
    std::atomic<bool> stop{false};
    weft::wait_group all;
    for (int i = 0; i < 64; ++i) all.go([&] { allocate_until(stop); });
    all.go([&] {
      wrongly = sleep_often(weft_test::scaled(1000, 100));
      stop = true;
    });
    weft::rt::installed_sink.store(count_preemptions, weft::rt::release);
    while (!stop) {
      const pid_t child = fork();
      if (child == 0) _exit(0);
      waitpid(child, nullptr, 0);
    }
    all.wait();
    weft::rt::installed_sink.store(nullptr, weft::rt::release);
  });
  EXPECT_LE(wrongly, 1);                             // 0; up to 4 if a late timer ends a slice that begins
}

}  // namespace
