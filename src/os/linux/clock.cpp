// clock.cpp — reading the monotonic clock and sleeping on it.
#include <errno.h>
#include <sys/prctl.h>
#include <time.h>

#include "os/linux/syscall.hpp"
#include "os/os.hpp"

namespace weft::inline v0::rt::os {

// Goes through libc, but only to jump into the vDSO: no lock, and errno is left alone, as this clock cannot
// fail.
std::int64_t nanotime() noexcept {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<std::int64_t>(now.tv_sec) * 1'000'000'000 + now.tv_nsec;
}

std::int64_t thread_cpu_time(std::int32_t thread_id) noexcept {
  constexpr int per_thread = 4, scheduled = 2;       // CPUCLOCK_PERTHREAD_MASK, CPUCLOCK_SCHED of the kernel
  timespec used{};
  const long error = system_call(SYS_clock_gettime, ~thread_id << 3 | per_thread | scheduled, &used);
  return error < 0 ? error : static_cast<std::int64_t>(used.tv_sec) * 1'000'000'000 + used.tv_nsec;
}

void sleep_ns(std::int64_t ns) noexcept {
  if (ns <= 0) return;
  std::int64_t at = 0;
  if (__builtin_add_overflow(nanotime(), ns, &at)) at = forever;
  timespec until{static_cast<time_t>(at / 1'000'000'000), static_cast<long>(at % 1'000'000'000)};
  while (system_call(SYS_clock_nanosleep, CLOCK_MONOTONIC, TIMER_ABSTIME, &until, nullptr) == -EINTR) {}
}

void set_timer_slack(std::uint64_t ns) noexcept { system_call(SYS_prctl, PR_SET_TIMERSLACK, ns); }

}  // namespace weft::inline v0::rt::os
