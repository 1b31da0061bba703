// process.cpp — what /proc and the limits say about this process.
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>

#include "os/linux/syscall.hpp"
#include "os/os.hpp"

namespace weft::inline v0::rt::os {
namespace {

// Reads a small file of /proc whole; the number of bytes, or a negative errno.
long read_file(const char* path, char* buffer, std::size_t size) noexcept {
  const long fd = system_call(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return fd;
  const long n = system_call(SYS_read, fd, buffer, size - 1);
  system_call(SYS_close, fd);
  if (n >= 0) buffer[n] = 0;
  return n;
}

// The fields of a stat file start after the command's name, which may contain anything: after the last ')'.
const char* after_name(const char* text) noexcept {
  const char* p = nullptr;
  for (; *text != 0; ++text)
    if (*text == ')') p = text + 1;
  return p;
}

long read_task_file(std::int32_t thread_id, const char* name, char* buffer, std::size_t size) noexcept {
  char path[64] = "/proc/self/task/";
  char digits[12];
  int n = 0, k = 16;
  do digits[n++] = static_cast<char>('0' + thread_id % 10);
  while ((thread_id /= 10) != 0);
  while (n > 0) path[k++] = digits[--n];
  while (*name != 0) path[k++] = *name++;
  return read_file(path, buffer, size);
}

// The last word of a line, in hexadecimal.
const void* last_number(const char* line, long n) noexcept {
  while (n > 0 && (line[n - 1] == '\n' || line[n - 1] == ' ')) --n;
  std::uintptr_t value = 0;
  for (int shift = 0; n > 0 && shift < 64; --n, shift += 4) {
    const char c = line[n - 1];
    if (c >= '0' && c <= '9')
      value |= static_cast<std::uintptr_t>(c - '0') << shift;
    else if (c >= 'a' && c <= 'f')
      value |= static_cast<std::uintptr_t>(c - 'a' + 10) << shift;
    else
      break;
  }
  return reinterpret_cast<const void*>(value);
}

}  // namespace

int count_threads() noexcept {
  char buffer[1024];
  if (read_file("/proc/self/stat", buffer, sizeof buffer) <= 0) return -1;
  const char* p = after_name(buffer);
  if (p == nullptr) return -1;
  for (int field = 0; field < 18 && *p != 0; ++p)    // state is the third field, num_threads the twentieth
    if (*p == ' ') ++field;
  int n = 0;
  for (; *p >= '0' && *p <= '9'; ++p) n = n * 10 + (*p - '0');
  return n;
}

long blocked_in(std::int32_t thread_id, const void** pc) noexcept {
  char buffer[1024];
  if (pc != nullptr) *pc = nullptr;
  // "running", or the number of the call and its arguments, or -1 for a fault; then SP and PC.
  if (long n = read_task_file(thread_id, "/syscall", buffer, sizeof buffer); n > 0) {
    if (buffer[0] == 'r') return not_blocked;
    if (pc != nullptr) *pc = last_number(buffer, n);
    if (buffer[0] == '-') return blocked_in_fault;
    long number = 0;
    for (const char* p = buffer; *p >= '0' && *p <= '9'; ++p) number = number * 10 + (*p - '0');
    return number;
  }
  if (read_task_file(thread_id, "/stat", buffer, sizeof buffer) <= 0) return state_unknown;
  const char* p = after_name(buffer);
  return p != nullptr && p[0] == ' ' && p[1] == 'R' ? not_blocked : blocked_unknown;
}

bool blocks_interrupts(std::int32_t thread_id) noexcept {
  char buffer[4096];
  if (read_task_file(thread_id, "/status", buffer, sizeof buffer) <= 0) return false;
  const char* p = strstr(buffer, "\nSigBlk:\t");
  if (p == nullptr) return false;
  std::uint64_t mask = 0;
  for (p += 9; *p != 0 && *p != '\n'; ++p)
    mask = mask << 4 | static_cast<std::uint64_t>(*p <= '9' ? *p - '0' : *p - 'a' + 10);
  return mask >> (SIGURG - 1) & 1;
}

bool is_wait_for_lock(long call) noexcept { return call == SYS_futex || call <= blocked_unknown; }

std::size_t stack_limit() noexcept {
  rlimit limit{};
  if (system_call(SYS_prlimit64, 0, RLIMIT_STACK, nullptr, &limit) < 0) return 0;
  return limit.rlim_cur == RLIM_INFINITY ? 0 : static_cast<std::size_t>(limit.rlim_cur);
}

}  // namespace weft::inline v0::rt::os
