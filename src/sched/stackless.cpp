// stackless.cpp — runnable goroutines that could not start because no stack was to be had.
//
// They stay queued while goroutines that have one run; each stack that becomes free lets one try again.
#include "sched/sched.hpp"

namespace weft::inline v0::rt {

void hold_stackless(goroutine* gp) noexcept {
  const std::size_t size = gp->stack_size;           // it may run as soon as it is in the list
  gp->status.store(g_status::runnable, relaxed);     // [order] relaxed: published by the lock
  {
    locked hold(sched.lock);
    sched.stackless.push_back(gp);
    sched.without_stack.fetch_add(1, relaxed);       // [order] relaxed: exact under the lock
  }
  // A stack may have become free between the failure and the count: whoever freed it did not see us.
  if (const stack s = stack_allocate(size)) {
    stack_free(s);
    retry_stackless();
  }
}

void retry_stackless() noexcept {
  goroutine* gp;
  {
    locked hold(sched.lock);
    gp = sched.stackless.pop_front();
    if (gp == nullptr) return;
    sched.without_stack.fetch_sub(1, relaxed);       // [order] relaxed: exact under the lock
  }
  submit_global(gp);
}

}  // namespace weft::inline v0::rt
