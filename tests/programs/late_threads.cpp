// late_threads.cpp — no thread comes any more, while more goroutines compute than there are threads.
//
// Those that are stopped with their threads go on in turn. Prints how many of eight got on at last.
#include <dlfcn.h>
#include <pthread.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <thread>

#include "weft/chan.hpp"
#include "weft/go.hpp"
#include "weft/runtime.hpp"
#include "weft/this_goroutine.hpp"
#include "weft/wait_group.hpp"

namespace {

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

int main() {
  const int moved = weft::run({.maxprocs = 1}, loops);
  std::printf("%d\n", moved);
}
