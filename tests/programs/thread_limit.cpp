// thread_limit.cpp — more goroutines than the limit allows threads.
//
//   thread_limit blocked PROCS LIMIT    all in a call that does not return: Go's fatal error
//   thread_limit busy PROCS LIMIT       all compute: they have their turns
//   thread_limit mixed PROCS LIMIT      all but two threads are in such a call: the others compute on
//   thread_limit stops PROCS LIMIT      three yield, the world is stopped again and again
//   thread_limit pipes PROCS LIMIT      two wait for each other in such calls, and a third yields
//   thread_limit alone PROCS LIMIT      one goroutine, in such a call until another thread ends it
//   thread_limit stopped PROCS LIMIT    the same, with a timer that was armed for an instant in the call
//   thread_limit later PROCS LIMIT      the same for ever, and one that sleeps: Go's fatal error in the end
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <thread>

#include "weft/chan.hpp"
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

void block_beside_stopped_timer() {
  auto c = weft::make_chan<int>();
  weft::go([=] { c.send(1); });
  if (!c.recv_for(std::chrono::milliseconds(200))) std::abort();
  block();
}

void block_beside_sleeper() {
  weft::wait_group all;
  all.go([] { weft::this_goroutine::sleep_for(std::chrono::milliseconds(2500)); });   // sysmon may sleep
  weft::this_goroutine::yield();
  block();
}

void compute_beside(int blocked, bool for_ever) {
  weft::wait_group busy, stuck;
  start(stuck, blocked, block);
  start(busy, 60, compute);
  busy.wait();
  if (!for_ever) close(ends[1]);
  stuck.wait();
}

std::atomic<bool> stop{false};

void yield_on() {
  while (!stop) weft::this_goroutine::yield();
}

void stops() {
  weft::wait_group all;
  start(all, 3, yield_on);
  for (int i = 0; i < 500; ++i) weft::stop_the_world([](void*) {}, nullptr);
  stop = true;
  all.wait();
}

// The answer takes a while, each time another: the calls are blocked for about as long as sysmon waits.
void pipes() {
  int back[2];
  if (pipe(back) != 0) return;
  weft::wait_group all;
  start(all, 1, yield_on);
  all.go([&] {
    char c;
    for (unsigned r = 1; read(ends[0], &c, 1) == 1;) {
      r = r * 1664525 + 1013904223;
      const std::chrono::nanoseconds time(10'000 + (r >> 8) % 150'000);
      const auto end = std::chrono::steady_clock::now() + time;
      while (std::chrono::steady_clock::now() < end) continue;
      weft::this_goroutine::yield();
      if (write(back[1], &c, 1) != 1) break;
    }
  });
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(2);
  for (char c = 0; std::chrono::steady_clock::now() < end; weft::this_goroutine::yield())
    if (write(ends[1], &c, 1) != 1 || read(back[0], &c, 1) != 1) break;
  close(ends[1]);
  stop = true;
  all.wait();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4 || pipe(ends) != 0) return 1;
  const int limit = std::atoi(argv[3]);
  const std::string_view mode = argv[1];
  std::thread other;
  if (mode == "alone" || mode == "stopped") other = std::thread([] {
    usleep(700'000);
    close(ends[1]);
  });
  weft::run({.maxprocs = std::atoi(argv[2]), .max_threads = limit}, [&] {
    if (mode == "stops") stops();
    else if (mode == "pipes") pipes();
    else if (mode == "alone") block();
    else if (mode == "stopped") block_beside_stopped_timer();
    else if (mode == "later") block_beside_sleeper();
    else compute_beside(mode == "blocked" ? 2 * limit : mode == "mixed" ? limit - 2 : 0, mode == "blocked");
  });
  if (other.joinable()) other.join();
  std::puts("done");
}
