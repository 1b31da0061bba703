// sleep.cpp — sleep_for and sleep_until: a goroutine, its own timer node, and one waker.
//
// S1  the timer is armed by the commit, so it cannot fire before the goroutine's context is saved
// S2  nobody but the timer wakes a sleeper: no claim is needed
// S3  a plain thread sleeps in the kernel, whether a world runs or not
#include "os/os.hpp"
#include "sched/fork.hpp"
#include "sched/inside.hpp"
#include "sched/park.hpp"
#include "sched/timers.hpp"
#include "weft/this_goroutine.hpp"

namespace weft::inline v0::rt {
namespace {

std::int64_t wake_sleeper(timer_node& node, std::int64_t, ready_batch& out) noexcept {
  out.add(goroutine::of(node));
  return timer_node::disarmed;
}

struct sleeping {   // on the sleeper's stack, which is its own again once the timer is armed
  timer_node* node;
  std::int64_t until;
};

void arm_sleeper(void* arg) noexcept {
  const sleeping s = *static_cast<sleeping*>(arg);
  arm_timer(*s.node, s.until);
}

bool sleep_goroutine(std::int64_t until) noexcept {   // false: this is a plain thread
  if (this_machine() == nullptr) {
    refuse_in_forked_child();
    return false;
  }
  inside_parking in;
  goroutine* gp = current();
  if (gp->is_thread) return false;
  gp->timer.fire = wake_sleeper;
  sleeping s{&gp->timer, until};
  park(wait_reason::sleep, arm_sleeper, &s);
  return true;
}

}  // namespace
}  // namespace weft::inline v0::rt

namespace weft::inline v0::detail {

void sleep_until_ns(std::int64_t deadline) {
  if (!rt::sleep_goroutine(deadline)) rt::os::sleep_ns(deadline - rt::os::nanotime());
}

}  // namespace weft::inline v0::detail
