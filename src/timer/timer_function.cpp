// timer_function.cpp — a timer that starts a goroutine: who holds what, who fires.
//
// R1  references: one of the handle, one of the armed node, one of each goroutine that it started. The fire
//     function hands the node's on to the goroutine, so it counts nothing.
// R2  reset() and stop() are ordered by lock_; a fire needs no lock of ours: they come after it by quiesce()
// R3  the last reference goes outside the runtime: it destroys a user's function
//
// The goroutine of an expiry is made in the fire function, under the heap lock: a G and a pointer, nothing of
// the user's. It runs when the scheduler has released that lock.
#include <new>
#include <stdexcept>
#include <utility>

#include "context/sanitizer.hpp"
#include "sched/fork.hpp"
#include "sched/inside.hpp"
#include "sched/park.hpp"
#include "sched/timers.hpp"
#include "timer/timer_slab.hpp"
#include "weft/timer.hpp"

namespace weft::inline v0::rt {

struct timer_function_access {
  static bool start(detail::timer_function* function, ready_batch& out) noexcept {
    goroutine* gp = newborn(run, function);
    if (!gp) return false;   // no world yet, or no memory
    function->node_holds_ = false;
    out.add(gp);
    return true;
  }
  static void run(void* p) {
    auto* function = *static_cast<detail::timer_function**>(p);
    struct at_end {   // on the way out by exit() too
      detail::timer_function* function;
      ~at_end() { function->release(); }
    } guard{function};
    sanitizer::hb_acquire(function);
    function->call_(function);
  }
};

namespace {

std::int64_t fire(timer_node& node, std::int64_t now, ready_batch& out) noexcept {
  constexpr std::int64_t retry_after = 1'000'000;
  auto* function = static_cast<detail::timer_function*>(timer_slot::of(node).owner);
  return timer_function_access::start(function, out) ? timer_node::disarmed : now + retry_after;
}

}  // namespace
}  // namespace weft::inline v0::rt

namespace weft::inline v0::detail {

timer_function::timer_function(caller call, destroyer destroy) : call_(call), destroy_(destroy) {
  {
    rt::inside in;
    slot_ = rt::take_timer_slot(this, rt::fire);
  }
  if (!slot_) throw std::bad_alloc();
}

timer_function::~timer_function() {
  if (rt::in_forked_child()) return;
  rt::inside in;
  rt::give_timer_slot(slot_);
}

bool timer_function::reset(std::int64_t when) noexcept {
  rt::sanitizer::hb_release(this);
  rt::inside in;
  rt::locked guard(lock_);
  const bool was_armed = rt::quiesce(slot_->node);
  // The node may hold a reference though it was not armed: a world has ended.
  if (!std::exchange(node_holds_, true)) references_.fetch_add(1, rt::relaxed);   // [order] made from another
  rt::arm_timer(slot_->node, when);
  return was_armed;
}

bool timer_function::stop() noexcept {
  if (rt::in_forked_child()) return false;           // for the destructor of a timer
  bool was_armed, held;
  {
    rt::inside in;
    rt::locked guard(lock_);
    was_armed = rt::quiesce(slot_->node);
    held = std::exchange(node_holds_, false);
  }
  if (held) release();
  return was_armed;
}

void timer_function::release() noexcept {
  rt::sanitizer::hb_release(this);
  // [order] acq_rel: what every holder did comes before the destruction.
  if (references_.fetch_sub(1, rt::acq_rel) != 1) return;
  rt::sanitizer::hb_acquire(this);
  destroy_(this);
}

void throw_uninitialized_timer(const char* what) { throw std::logic_error(what); }
void throw_bad_period(const char* what) { throw std::invalid_argument(what); }

}  // namespace weft::inline v0::detail
