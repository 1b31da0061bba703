// preempt.cpp — loops that never end, which only the end of the process gets rid of. Run by
// tests/conformance/proc_test.cpp and signal_test.cpp.
//
//   preempt async_preempt    prints OK once the world could be stopped around three of them on one processor
//   preempt spinners         prints "ready" when four of them run, then waits for a signal
//   preempt template_thread_race   prints OK once two goroutines have locked themselves to threads, while the
//                            world is stopped again and again
//   preempt trace_stw        fails if goroutines that compute change their P or thread when the world stops
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "weft/detail/introspect.hpp"
#include "weft/go.hpp"
#include "weft/runtime.hpp"
#include "weft/this_goroutine.hpp"
#include "weft/wait_group.hpp"

namespace {

std::atomic<int> started{0};

void wait_until_started(int n) {
  while (started.load() < n) weft::this_goroutine::yield();
}

[[gnu::noinline]] void leaf() { asm volatile(""); }

[[noreturn]] void calls_leaves() {
  ++started;
  for (;;) {
    leaf();
    leaf();
  }
}

[[gnu::noinline]] std::uint64_t frameless() {
  std::uint64_t x = 1;
  for (;;) {
    for (std::uint64_t i = 0; i < 100; ++i) x ^= i * x;
    asm volatile("" : "+r"(x));
  }
}

[[noreturn]] void empty_loop() {
  ++started;
  for (;;) asm volatile("");
}

void async_preempt() {
  weft::go(calls_leaves);
  weft::go([] {
    ++started;
    frameless();
  });
  weft::go(empty_loop);
  wait_until_started(3);
  weft::stop_the_world([](void*) {}, nullptr);
  std::puts("OK");
}

void spinners() {
  for (int i = 0; i < 4; ++i) weft::go({.name = "spinner"}, empty_loop);
  wait_until_started(4);
  std::puts("ready");
  std::fflush(stdout);
  weft::this_goroutine::sleep_for(std::chrono::seconds(300));
}

void template_thread_race() {
  weft::go([] { for (;;) weft::stop_the_world([](void*) {}, nullptr); });
  const auto start = std::chrono::steady_clock::now() + std::chrono::milliseconds(10);
  weft::wait_group both;
  for (int i = 0; i < 2; ++i)
    both.go([=] {
      while (std::chrono::steady_clock::now() < start) continue;
      weft::go([] {});   // something in the queue of the P that is handed on
      weft::thread_lock pin;
      weft::this_goroutine::yield();
    });
  both.wait();
  std::puts("OK");
}

struct seat {   // where a goroutine runs
  int processor = -1;
  long thread = 0;
  bool operator==(const seat&) const = default;
};

// Two goroutines compute, and look all the time where they are; the world stops. True: both go on on the same
// P and the same thread.
bool keeps_seats() {
  std::atomic<int> ping{1}, pong[2] = {0, 0};
  seat seats[2][2];
  weft::wait_group all;
  for (int k = 0; k < 2; ++k)
    all.go([&, k] {
      for (int turn; (turn = ping) != 0;) {
        const seat now{weft::detail::processor_id(), syscall(SYS_gettid)};
        if (pong[k] == turn) continue;
        seats[k][turn - 1] = now;
        pong[k] = turn;
      }
    });
  auto wait_for = [&](int turn) {
    for (auto& p : pong)
      while (p != turn) continue;
  };
  wait_for(1);
  weft::stop_the_world([](void*) {}, nullptr);
  ping = 2;
  wait_for(2);
  ping = 0;
  all.wait();
  return seats[0][0] == seats[0][1] && seats[1][0] == seats[1][1];
}

void trace_stw() {
  constexpr int tries = 50, allowed = 5;             // Go: a quarter
  int failed = 0;
  for (int i = 0; i < tries; ++i) failed += !keeps_seats();
  std::printf("%d of %d moved\n", failed, tries);
  std::fflush(stdout);
  if (failed > allowed) std::_Exit(1);
}

struct { const char* name; int procs; void (*run)(); } const cases[] = {
    {"async_preempt", 1, async_preempt},
    {"spinners", 4, spinners},
    {"template_thread_race", 4, template_thread_race},
    {"trace_stw", 4, trace_stw},
};

}  // namespace

int main(int argc, char** argv) {
  for (auto& c : cases) {
    if (argc < 2 || std::strcmp(c.name, argv[1]) != 0) continue;
    weft::run({.maxprocs = c.procs}, c.run);
    return 0;
  }
  return 1;
}
