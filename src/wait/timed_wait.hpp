// timed_wait.hpp — a wait with a deadline and a stop request: woken exactly once, by whichever comes first.
//
//   outside   wait_scope scope(limits);            opens gp->wait; builds the stop callback, which may run
//                                                  user code
//   inside    lock; try; queue a contested waiter
//             scope.park(reason, commit, arg)      arms the timer, parks, disarms, says who won
//             lock; take the waiter out if still queued; unlock
//   outside   ~wait_scope                          closes gp->wait; destroys the stop callback
//
// One scope serves one park: the wait word opens once. Who has to wait again builds another scope, outside.
// The commit must end with commit_parked(gp) (below), or set the parked bit before it releases its lock
// (wait_list.cpp).
// I1  between the constructor and the destructor gp->wait is this wait's alone: claims that come after the
//     end lose
// I2  the stop callback only claims and readies; it never parks (std finds the running callback by thread)
#pragma once
#include <optional>
#include <stop_token>

#include "wait/waiter.hpp"
#include "weft/detail/deadline.hpp"

namespace weft::inline v0::rt {

// What every commit of a contested wait does last.
inline void commit_parked(goroutine* gp) noexcept {
  if (!gp->wait.commit_parked()) [[unlikely]] ready(gp);
}

enum class woken_by : std::uint8_t { waker, timeout, stop };

class wait_scope {
 public:
  // Outside; may throw what a stop_callback's allocation throws.
  explicit wait_scope(const detail::wait_limits& limits);
  ~wait_scope();                                            // outside
  wait_scope(const wait_scope&) = delete;
  wait_scope& operator=(const wait_scope&) = delete;

  // Inside, holding the locks that `commit` releases. Returns inside.
  woken_by park(wait_reason reason, commit_fn commit, void* arg) noexcept;
  bool is_stopped() const noexcept;      // a stop request has come already: do not park
  bool is_expired() const noexcept;      // the deadline lies in the past
  goroutine* owner() const noexcept { return gp_; }

 private:
  struct on_stop {
    goroutine* gp;
    void operator()() const noexcept;
  };
  const detail::wait_limits limits_;
  goroutine* gp_;
  std::optional<std::stop_callback<on_stop>> callback_;
};

// A wait_scope if there is a limit, else none: a wait without limits is spared it.
class maybe_wait_scope {   // built and destroyed outside, as the scope
 public:
  explicit maybe_wait_scope(const detail::wait_limits& limits) {
    if (limits.any()) scope_.emplace(limits);
  }
  wait_scope* get() noexcept { return scope_ ? &*scope_ : nullptr; }
  bool has_ended() const noexcept { return scope_ && (scope_->is_stopped() || scope_->is_expired()); }

 private:
  std::optional<wait_scope> scope_;
};

}  // namespace weft::inline v0::rt
