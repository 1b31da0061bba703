// faults.cpp — pthread_create that fails, or hangs for a second, at random: for the runtime's threads.
//
// The definition in the program comes before libc's. Service threads are started by the thread that calls
// run(); those that run goroutines by one named weft-template, and only these suffer.
#include "faults.hpp"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>

#include <atomic>

namespace soak {

namespace {

std::atomic<fault> wanted{fault::none};
std::atomic<int> suffered{0};

bool is_template_thread() {
  char name[16] = {};
  prctl(PR_GET_NAME, name);
  return strcmp(name, "weft-template") == 0;
}

// Only one thread comes here.
bool one_in(unsigned n) {
  static unsigned state = 1;
  state = state * 1664525 + 1013904223;
  return (state >> 16) % n == 0;
}

}  // namespace

void make_threads_suffer(fault how) { wanted = how; }
int faults_suffered() { return suffered; }

}  // namespace soak

extern "C" int pthread_create(pthread_t* id, const pthread_attr_t* how, void* (*f)(void*),
                              void* arg) noexcept {
  using function = int (*)(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*);
  static const auto next = reinterpret_cast<function>(dlsym(RTLD_NEXT, "pthread_create"));
  using namespace soak;
  if (const fault what = wanted; what != fault::none && is_template_thread()) {
    if (what == fault::fails && one_in(2)) {
      ++suffered;
      return EAGAIN;
    }
    if (what == fault::hangs && one_in(20)) {
      ++suffered;
      const timespec second{1, 0};
      nanosleep(&second, nullptr);
    }
  }
  return next(id, how, f, arg);
}
