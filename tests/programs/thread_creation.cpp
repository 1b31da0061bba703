// thread_creation.cpp — pthread_create fails, or takes a second, while goroutines block and compute.
//
//   thread_creation fails PROCS SEED     two of three calls, at random
//   thread_creation hangs PROCS SEED     one of three takes a second
//   thread_creation dries PROCS N        only the first N succeed (three are the runtime's own)
// Prints "done" for each of two worlds.
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "weft/blocking.hpp"
#include "weft/go.hpp"
#include "weft/runtime.hpp"
#include "weft/this_goroutine.hpp"
#include "weft/wait_group.hpp"

namespace {

using namespace std::chrono_literals;

enum { passes, fails, hangs, dries } mode = passes;
std::atomic<unsigned> calls{0};
unsigned number = 0;
using create_fn = int(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*);
create_fn* real_create = nullptr;

bool one_of_three() {
  unsigned x = (calls.fetch_add(1) + 1) * 2654435761u ^ number * 40503u;
  x ^= x >> 15;
  x *= 2246822519u;
  return (x ^ x >> 13) % 3 == 0;
}

int create(pthread_t* thread, const pthread_attr_t* how, void* (*body)(void*), void* arg) {
  if (real_create == nullptr) real_create = reinterpret_cast<create_fn*>(dlsym(RTLD_NEXT, "pthread_create"));
  if (mode == fails && !one_of_three()) return EAGAIN;
  if (mode == dries && calls.fetch_add(1) >= number) return EAGAIN;
  if (mode == hangs && one_of_three()) usleep(1'000'000);
  return real_create(thread, how, body, arg);
}

void compute(std::chrono::microseconds time) {
  const auto end = std::chrono::steady_clock::now() + time;
  while (std::chrono::steady_clock::now() < end) continue;
}

void work() {
  weft::wait_group all;
  for (int i = 0; i < 24; ++i) {
    all.add(1);
    weft::go([&all, i] {
      for (int k = 0; k < 6; ++k) switch (i % 6) {
        case 0: usleep(3'000); break;
        case 1: weft::blocking([] { usleep(2'000); }); break;
        case 2: compute(15ms); break;
        case 3: weft::this_goroutine::sleep_for(1ms); break;
        case 4: {
          if (mode == dries) break;                  // while it waits its thread runs nobody else
          weft::thread_lock here;
          weft::this_goroutine::yield();
          usleep(500);
          break;
        }
        default:
          for (int n = 0; n < 100; ++n) weft::this_goroutine::yield();
      }
      all.done();
    });
  }
  all.wait();
}

}  // namespace

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__) && !defined(WEFT_TSAN)
extern "C" int pthread_create(pthread_t* thread, const pthread_attr_t* how, void* (*body)(void*),
                              void* arg) noexcept {
  return create(thread, how, body, arg);
}
#endif

int main(int argc, char** argv) {
  if (argc != 4) return 1;
  mode = std::strcmp(argv[1], "fails") == 0 ? fails : std::strcmp(argv[1], "hangs") == 0 ? hangs : dries;
  number = static_cast<unsigned>(std::atoi(argv[3]));
  (void)create;
  for (int world = 0; world < 2; ++world) {
    weft::run({.maxprocs = std::atoi(argv[2])}, work);
    std::puts("done");
  }
}
