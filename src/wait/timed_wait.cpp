// timed_wait.cpp — see timed_wait.hpp.
#include "wait/timed_wait.hpp"

#include "sched/fork.hpp"
#include "sched/inside.hpp"
#include "sched/timers.hpp"

namespace weft::inline v0::rt {
namespace {

std::int64_t time_out(timer_node& node, std::int64_t, ready_batch& out) noexcept {
  goroutine* gp = goroutine::of(node);
  if (gp->wait.claim(wait_word::timed_out) == wait_word::claimed::parked) out.add(gp);
  return timer_node::disarmed;
}

}  // namespace

// Whoever destroys a stop_callback waits for the end of this call, so it must not be where a thread stays
// behind when its world ends: it leaves without looking what its P is wanted for.
void wait_scope::on_stop::operator()() const noexcept {
  if (in_forked_child()) return;                     // the destructor of a handle has asked
  inside_briefly in;
  // [order] relaxed: a finished world stays finished.
  if (gp->status.load(relaxed) == g_status::abandoned) return;
  if (gp->wait.claim(wait_word::stopped) == wait_word::claimed::parked) ready(gp);
}

wait_scope::wait_scope(const detail::wait_limits& limits) : limits_(limits) {
  {
    inside in;   // adopts a foreign thread
    gp_ = current();
  }
  gp_->wait.begin();
  if (limits.stop && limits.stop->stop_possible()) callback_.emplace(*limits.stop, on_stop{gp_});
}

wait_scope::~wait_scope() {
  gp_->wait.close();   // a callback that runs from here on loses
}

woken_by wait_scope::park(wait_reason reason, commit_fn commit, void* arg) noexcept {
  if (limits_.deadline == detail::never) {
    rt::park(reason, commit, arg);
  } else if (gp_->is_thread) {
    park_thread_until(reason, commit, arg, limits_.deadline);
  } else {
    gp_->timer.fire = time_out;
    arm_timer(gp_->timer, limits_.deadline);
    rt::park(reason, commit, arg);
    if (!gp_->timer.disarm()) gp_->timer.sync_with_fire();
  }
  switch (gp_->wait.winner()) {
    case wait_word::timed_out: return woken_by::timeout;
    case wait_word::stopped: return woken_by::stop;
    default: return woken_by::waker;
  }
}

bool wait_scope::is_stopped() const noexcept { return limits_.stop && limits_.stop->stop_requested(); }
bool wait_scope::is_expired() const noexcept {
  return limits_.deadline != detail::never && os::nanotime() >= limits_.deadline;
}

}  // namespace weft::inline v0::rt
