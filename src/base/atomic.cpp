// atomic.cpp — choosing the barrier pair, and its rare side.
#include "base/atomic.hpp"

#include <linux/membarrier.h>

#include "base/check.hpp"
#include "os/linux/syscall.hpp"

namespace weft::inline v0::rt {

atomic<bool> asymmetric_barriers{false};

void barrier_init() noexcept {
  // [order] relaxed: set once, before there is a second thread.
  if (asymmetric_barriers.load(relaxed)) return;
  // One barrier as a trial: a seccomp filter may let the registration through and nothing else.
  if (os::system_call(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0) != 0) return;
  if (os::system_call(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0) != 0) return;
  asymmetric_barriers.store(true, relaxed);
}

void heavy_barrier() noexcept {
  std::atomic_thread_fence(seq_cst);   // our own core; and all there is to do when both sides use real fences
  // [order] relaxed: set once, before there is a second thread.
  if (!asymmetric_barriers.load(relaxed)) return;
  // The call can only fail for want of a CPU mask's memory, which the kernel gets sooner or later.
  for (int tries = 0; os::system_call(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0) != 0; ++tries) {
    if (tries == 1000) fatal("membarrier fails although the process is registered for it");
    os::system_call(SYS_sched_yield);
  }
}

// At load time as well: plain threads may use our locks before the runtime starts, and with a single thread
// the registration is fast (later it waits for the kernel's RCU).
[[maybe_unused]] const bool initialised_at_load = (barrier_init(), true);

}  // namespace weft::inline v0::rt
