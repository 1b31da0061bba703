// late_threads.cpp — no thread comes any more, while more goroutines compute than there are threads.
//
//   loops    they compute all the time. Those that are stopped with their threads go on in turn. Prints how
//            many of eight got on at last
//   strays   they were blocked, and compute without a P; and the P waits for a thread. Prints how many
//            hundredths of a CPU they use
//   begins   one computes for ever, and there may be one more thread: do others begin all the same? Prints
//            how many of ten did
//   many     one blocks, and 100,000 others begin all the same. Prints after how many hundredths of a second
//            the first one does
//   ticks    eight goroutines at a time block, beside one that ticks; no threads for 10 ms. Prints how many
//            hundredths of the ticks of that time came
#include <dlfcn.h>
#include <pthread.h>
#include <sys/resource.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <string_view>
#include <thread>

#include "weft/chan.hpp"
#include "weft/go.hpp"
#include "weft/runtime.hpp"
#include "weft/this_goroutine.hpp"
#include "weft/wait_group.hpp"

namespace {

using namespace std::chrono_literals;

std::atomic<bool> none_come{false}, stop{false};
std::atomic<unsigned long> counts[8];

// All have begun when they compute: nobody is held back until there are threads for it.
void start(const weft::wait_group& all, const weft::wait_group& begun, weft::chan<bool> go_on, int i) {
  begun.add(1);
  all.go([begun, go_on, i] {
    begun.done();
    go_on.recv();
    while (!stop) ++counts[i];
  });
}

void watch(int& moved) {
  usleep(300'000);
  unsigned long before[8];
  for (int i = 0; i < 8; ++i) before[i] = counts[i];
  usleep(500'000);
  for (int i = 0; i < 8; ++i) moved += counts[i] != before[i];
  none_come = false;
  stop = true;
}

int loops() {
  const weft::wait_group all, begun;
  auto two = weft::make_chan<bool>(), others = weft::make_chan<bool>();
  for (int i = 0; i < 8; ++i) start(all, begun, i < 2 ? two : others, i);
  begun.wait();
  two.close();
  while (counts[0] == 0 || counts[1] == 0) weft::this_goroutine::yield();
  int moved = 0;
  std::thread watcher(watch, std::ref(moved));
  none_come = true;
  others.close();
  all.wait();
  watcher.join();
  return moved;
}

int begins() {
  const weft::wait_group all;
  std::atomic<int> computing{0}, begun{0};
  all.go([&computing] {
    for (++computing; !stop;) {}
  });
  while (computing < 1) weft::this_goroutine::yield();
  for (int i = 0; i < 10; ++i) all.go([&begun] { ++begun; });
  for (int i = 0; i < 500 && begun < 10; ++i) weft::this_goroutine::sleep_for(10ms);
  const int seen = begun;
  stop = true;
  all.wait();
  return seen;
}

int many() {
  using clock = std::chrono::steady_clock;
  const weft::wait_group all, crowd;
  all.go([] {
    while (!stop) usleep(1'000);
  });
  weft::this_goroutine::sleep_for(50ms);
  none_come = true;
  std::atomic<clock::rep> first{0};
  const auto start = clock::now();
  for (int i = 0; i < 100'000; ++i)
    crowd.go([&first, start] {
      if (first == 0) first = (clock::now() - start).count();
    });
  crowd.wait();
  const int hundredths = static_cast<int>(clock::duration(first) / 10ms);
  none_come = false;
  stop = true;
  all.wait();
  return hundredths;
}

int ticks() {
  std::atomic<int> ticks{0};
  const weft::wait_group all;
  all.go([&ticks] {
    for (; !stop; ++ticks) weft::this_goroutine::sleep_for(1ms);
  });
  int seen = 0;
  std::chrono::duration<double, std::milli> took{};
  for (int round = 0; round < 20; ++round) {
    const weft::wait_group blocked;
    const int before = ticks;
    const auto start = std::chrono::steady_clock::now();
    none_come = true;
    for (int i = 0; i < 8; ++i) blocked.go([] { usleep(30'000); });
    weft::this_goroutine::sleep_for(10ms);
    seen += ticks - before;
    took += std::chrono::steady_clock::now() - start;
    none_come = false;
    blocked.wait();
  }
  stop = true;
  all.wait();
  return int(100 * seen / took.count());
}

double cpu_seconds() {
  rusage used;
  getrusage(RUSAGE_SELF, &used);
  const auto seconds = [](const timeval& t) { return double(t.tv_sec) + double(t.tv_usec) / 1e6; };
  return seconds(used.ru_utime) + seconds(used.ru_stime);
}

void measure(int& hundredths) {
  usleep(400'000);
  const auto start = std::chrono::steady_clock::now();
  const double before = cpu_seconds();
  usleep(500'000);
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  hundredths = int(100 * (cpu_seconds() - before) / took.count());
  none_come = false;
  stop = true;
}

int strays() {
  const weft::wait_group all;
  std::atomic<int> begun{0};
  for (int i = 0; i < 8; ++i)
    all.go([&begun] {
      ++begun;
      usleep(200'000);
      while (!stop) {}
    });
  while (begun < 8) weft::this_goroutine::yield();
  int hundredths = 0;
  std::thread watcher(measure, std::ref(hundredths));
  none_come = true;
  for (int i = 0; i < 8; ++i)                        // for the last of them no M is left
    all.go([] {
      while (!stop) usleep(1'000'000);
    });
  all.wait();
  watcher.join();
  return hundredths;
}

}  // namespace

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__) && !defined(WEFT_TSAN)
extern "C" int pthread_create(pthread_t* thread, const pthread_attr_t* how, void* (*body)(void*),
                              void* arg) noexcept {
  using function = int (*)(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*);
  static const auto next = reinterpret_cast<function>(dlsym(RTLD_NEXT, "pthread_create"));
  while (none_come) usleep(1'000);
  return next(thread, how, body, arg);
}
#endif

int main(int, char** argv) {
  const std::string_view mode = argv[1];
  const auto run = mode == "loops"    ? loops
                   : mode == "begins" ? begins
                   : mode == "many"   ? many
                   : mode == "ticks"  ? ticks
                                      : strays;
  std::printf("%d\n", weft::run({.maxprocs = 1, .max_threads = mode == "begins" ? 2 : 0}, run));
}
