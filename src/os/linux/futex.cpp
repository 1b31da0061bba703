// futex.cpp — sleeping on a word and waking those who do.
#include <linux/futex.h>
#include <time.h>

#include <algorithm>

#include "os/linux/syscall.hpp"
#include "os/os.hpp"

namespace weft::inline v0::rt::os {

int futex_wait(const atomic<std::uint32_t>* word, std::uint32_t expected, std::int64_t deadline) noexcept {
  timespec at{};
  timespec* limit = nullptr;
  if (deadline != forever) {
    deadline = std::max<std::int64_t>(deadline, 0);
    at.tv_sec = deadline / 1'000'000'000;
    at.tv_nsec = deadline % 1'000'000'000;
    limit = &at;
  }
  // WAIT_BITSET, because its time limit is absolute and on CLOCK_MONOTONIC.
  constexpr int operation = FUTEX_WAIT_BITSET | FUTEX_PRIVATE_FLAG;
  return static_cast<int>(
      system_call(SYS_futex, word, operation, expected, limit, nullptr, FUTEX_BITSET_MATCH_ANY));
}

int futex_wake(const atomic<std::uint32_t>* word, int count) noexcept {
  return static_cast<int>(system_call(SYS_futex, word, FUTEX_WAKE | FUTEX_PRIVATE_FLAG, count));
}

}  // namespace weft::inline v0::rt::os
