// loader.cpp — the dynamic loader: its lock, and a library's TLS, which is allocated at the first touch.
//
// A library that nobody else has loaded takes a millisecond on a busy machine, under the lock. So only a few
// load at a time: or all would wait for this lock most of the time, and a pthread_mutex_t is so unfair that
// some would wait for seconds (plain threads as well).
#include <dlfcn.h>

#include <atomic>

#include "kit.hpp"

namespace soak {

namespace {

constexpr int most_at_a_time = 4;
std::atomic<int> loading{0};

}  // namespace

void load_library(kit& mine) {
  struct turn {
    bool had = ++loading <= most_at_a_time;
    ~turn() { --loading; }
  } const turn;
  if (!turn.had) return;
  const std::size_t which = mine.random.index(WEFT_SOAK_PLUGIN_COUNT);
  const std::string path = WEFT_SOAK_PLUGINS + std::to_string(which) + ".so";
  void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) throw wrong(dlerror());
  const auto count = reinterpret_cast<int (*)()>(dlsym(library, "plugin_count"));
  require(count != nullptr, "dlsym failed");
  const int before = count();
  require(WEFT_SOAK_NO_TLS || count() == before + 1, "the library's thread-local variable changed");
  require(dlclose(library) == 0, "dlclose failed");
}

}  // namespace soak
