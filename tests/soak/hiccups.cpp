// hiccups.cpp — to be preloaded: malloc, free, read and write that sometimes block, a lock in hand or not.
//
// Like an allocator that asks the kernel for memory under its lock, on a machine that is short of it. One
// call in 1,000 sleeps for up to a millisecond.
#include <errno.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>

extern "C" {
void* __libc_malloc(std::size_t);
void __libc_free(void*);
ssize_t __read(int, void*, std::size_t);
ssize_t __write(int, const void*, std::size_t);
}

namespace {

[[gnu::tls_model("initial-exec")]] thread_local std::uint64_t state = 0;
pthread_mutex_t allocators_lock = PTHREAD_MUTEX_INITIALIZER;

std::uint32_t roll() {
  if (state == 0) state = static_cast<std::uint64_t>(syscall(SYS_gettid)) * 0x9e3779b97f4a7c15u;
  state = state * 6364136223846793005u + 1442695040888963407u;
  return static_cast<std::uint32_t>(state >> 33);
}

void block_sometimes() {
  const std::uint32_t r = roll();
  const bool sleeps = r % 1024 == 0, locks = r % 32 == 0 && r % 3 == 0;
  if (!sleeps && !locks) return;
  const int error = errno;
  if (locks) pthread_mutex_lock(&allocators_lock);
  if (sleeps) {
    const timespec time{0, static_cast<long>(roll() % 1'000'000)};
    syscall(SYS_nanosleep, &time, nullptr);
  }
  if (locks) pthread_mutex_unlock(&allocators_lock);
  errno = error;
}

}  // namespace

extern "C" {

void* malloc(std::size_t n) {
  block_sometimes();
  return __libc_malloc(n);
}

void free(void* p) {
  block_sometimes();
  __libc_free(p);
}

ssize_t read(int fd, void* to, std::size_t n) {
  block_sometimes();
  return __read(fd, to, n);
}

ssize_t write(int fd, const void* from, std::size_t n) {
  block_sometimes();
  return __write(fd, from, n);
}

}  // extern "C"
