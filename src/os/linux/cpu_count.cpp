// cpu_count.cpp — on how many CPUs the process may run.
#include <algorithm>
#include <bit>

#include "os/linux/syscall.hpp"
#include "os/os.hpp"

namespace weft::inline v0::rt::os {

int affinity_cpus() noexcept {
  unsigned long mask[8192 / sizeof(unsigned long)];   // room for 65,536 CPUs
  // The mask of the process is its first thread's: a helper thread may have been moved by the user.
  long bytes = system_call(SYS_sched_getaffinity, system_call(SYS_getpid), sizeof mask, mask);
  if (bytes <= 0) bytes = system_call(SYS_sched_getaffinity, 0, sizeof mask, mask);
  int cpus = 0;
  for (long i = 0; i < bytes / static_cast<long>(sizeof mask[0]); ++i) cpus += std::popcount(mask[i]);
  return std::max(cpus, 1);
}

int cpus_at_first() noexcept {
  static atomic<int> known{0};
  int cpus = known.load(relaxed);   // [order] relaxed: every thread would store the same value
  if (cpus == 0) known.store(cpus = affinity_cpus(), relaxed);
  return cpus;
}

}  // namespace weft::inline v0::rt::os
