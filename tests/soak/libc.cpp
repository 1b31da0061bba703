// libc.cpp — the clock's and the environment's locks, and calls that block.
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <ctime>

#include "kit.hpp"

namespace soak {

void tell_time(kit& mine) {
  const auto t = static_cast<std::time_t>(mine.random.below(2'000'000'000));
  std::tm there{};
  require(localtime_r(&t, &there) != nullptr, "localtime_r failed");
  char text[64];
  require(std::strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S %Z", &there) > 19, "strftime failed");
  require(std::mktime(&there) == t, "mktime is not the inverse of localtime_r");
}

void read_environment(kit&) {
  for (int i = 0; i < 64; ++i) {
    const char* path = std::getenv("PATH");
    require(path != nullptr && *path != 0, "PATH is gone");
    require(std::getenv("WEFT_SOAK_NOT_SET") == nullptr, "getenv found what is not there");
  }
}

pipe_pair::~pipe_pair() {
  for (const int end : ends_)
    if (end >= 0) close(end);
}

int pipe_pair::open(int end) {
  if (ends_[0] < 0) require(::pipe(ends_) == 0, "pipe failed");
  return ends_[end];
}

void use_pipe(kit& mine) {
  char out[512], in[512];
  const std::size_t n = 1 + mine.random.index(sizeof out);
  std::memset(out, static_cast<int>(n), n);
  require(write(mine.pipe.out(), out, n) == static_cast<ssize_t>(n), "write to a pipe failed");
  require(read(mine.pipe.in(), in, n) == static_cast<ssize_t>(n), "read from a pipe failed");
  require(std::memcmp(out, in, n) == 0, "a pipe's bytes changed");
}

void sleep_a_little(kit& mine) { usleep(static_cast<useconds_t>(mine.random.below(500))); }

}  // namespace soak
