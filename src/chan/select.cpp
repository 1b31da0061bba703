// select.cpp — one of several sends and receives (weft/detail/select_case.hpp).
//
//   pass 0   in random order, those that look ready, one lock at a time: the first that can go, goes
//   lock all channels, by address, each once
//   pass 1   in the same order: the first case that can go, goes        unlock, wake its peer, done
//            none: otherwise, or a deadline in the past                 unlock, done
//            not needed if all locks were had by the bias (S6)
//   pass 2   a contested waiter in every queue, park                    the commit unlocks, commit_parked
//   pass 3   take the waiters out again, channel by channel; the one that fired is out already
//
// S1  between lock_all and unlock_all nothing about the cases can change, so `otherwise` is taken only if no
//     case was ready at that instant. A case that goes needs no such instant: that it was ready is enough
// S2  the goroutine's wait word has one winner; its value is the index of the case. A waker that claimed
//     before commit_parked (`early_`) completes its writes under its channel's lock, which pass 3 then takes
//     too; one that claimed later has completed them before its ready()
// S3  the cases of one select never meet each other: pass 1 queues nothing, wakers claim by the wait word
// S4  the commit may use the request: nobody can resume the goroutine before commit_parked, its last step
// S5  a stop request that came before the call is one more ready case, as likely as any other
// S6  a channel that is locked by the bias was this P's alone since pass 0: only a P itself adopts, and who
//     takes a bias away leaves none. So it is as pass 0 saw it
#include <new>

#include "chan/chan_ops.hpp"
#include "chan/select_order.hpp"
#include "sched/inside.hpp"
#include "wait/timed_wait.hpp"

namespace weft::inline v0::rt {
namespace {

class selection {
 public:
  explicit selection(const select_request& r) noexcept
      : cases_(r.cases),
        size_(r.size),
        waits_(r.waits),
        waiters_(static_cast<waiter*>(r.scratch)),
        locks_(reinterpret_cast<chan_core**>(waiters_ + r.size)),
        poll_order_(reinterpret_cast<std::uint32_t*>(locks_ + r.size)) {}

  // Inside. `scope` null: no limits.
  std::uint32_t run(wait_scope* scope, bool stop_requested, bool expired) noexcept;

 private:
  static constexpr std::uint32_t none = 0xfffffff0;
  static_assert(select_scratch_size(0) >= sizeof(std::uint32_t) &&
                select_scratch_size(1) - select_scratch_size(0) >=
                    sizeof(waiter) + sizeof(chan_core*) + sizeof(std::uint32_t));

  static bool looks_blocked(const select_case& c) noexcept;
  static bool try_locked(select_case& c, wakeup& k) noexcept;
  static bool try_alone(select_case& c, const machine* mp) noexcept;
  std::uint32_t look_one_by_one(const machine* mp) noexcept;
  bool lock_all(const machine* mp) noexcept;
  void unlock_all(const machine* mp) noexcept;
  std::uint32_t look(wakeup& k) noexcept;
  void enqueue(goroutine* gp) noexcept;
  void leave_queues(std::uint32_t fired) noexcept;
  std::uint32_t park_in_all(wait_scope* scope) noexcept;
  std::uint32_t park_in_none(wait_scope* scope) noexcept;
  static void commit(void* arg) noexcept;
  static std::uint32_t to_result(woken_by by, std::uint32_t winner) noexcept;

  wait_queue& queue_of(const select_case& c) noexcept {
    return c.is_send ? c.core->senders : c.core->receivers;
  }

  select_case* cases_;
  std::uint32_t size_;
  bool waits_;
  waiter* waiters_;                      // by case index; only those in queues are constructed
  chan_core** locks_;                    // the channels, by address, each once
  std::uint32_t* poll_order_;            // of the cases, less nil ones; size_ stands for the stop request
  std::uint32_t polled_ = 0, locked_ = 0;
  goroutine* gp_ = nullptr;
  bool early_ = false;                   // a waker claimed before the park was committed
};

std::uint32_t selection::run(wait_scope* scope, bool stop_requested, bool expired) noexcept {
  machine* mp = this_machine();
  polled_ = make_poll_order(cases_, size_, stop_requested ? &size_ : nullptr, poll_order_, mp->random);
  if (polled_ == 0) {
    if (!waits_) return select_otherwise;
    return expired ? select_timed_out : park_in_none(scope);
  }
  std::uint32_t fired = look_one_by_one(mp);
  if (fired == none) {
    locked_ = make_lock_order(cases_, size_, locks_);
    const bool unchanged = lock_all(mp);   // S6
    wakeup k;
    if (!unchanged) fired = look(k);
    if (fired == none && waits_ && !expired) return park_in_all(scope);
    unlock_all(mp);
    k.deliver();
  }
  if (fired == none) return waits_ ? select_timed_out : select_otherwise;
  return fired == size_ ? select_stopped : fired;
}

bool selection::looks_blocked(const select_case& c) noexcept {
  return c.is_send ? c.core->send_would_block() : c.core->recv_would_block();
}

// Under the channel's lock. A closed channel's case is ready too: it fires with ok == false. False: the case
// was not ready, its queue has only waiters whom somebody else has woken.
[[gnu::noinline]] bool selection::try_locked(select_case& c, wakeup& k) noexcept {
  const attempt how = c.is_send ? send_locked(*c.core, c.slot, k) : recv_locked(*c.core, c.slot, k);
  c.ok = how == attempt::done;
  return how != attempt::blocked;
}

bool selection::try_alone(select_case& c, const machine* mp) noexcept {
  lock(*c.core, mp);
  wakeup k;
  const bool went = try_locked(c, k);
  unlock(*c.core, mp);
  k.deliver();
  return went;
}

// Pass 0.
std::uint32_t selection::look_one_by_one(const machine* mp) noexcept {
  for (const std::uint32_t *at = poll_order_, *end = at + polled_; at != end; ++at) {
    if (*at == size_) return size_;     // S5
    if (!looks_blocked(cases_[*at]) && try_alone(cases_[*at], mp)) return *at;
  }
  return none;
}

bool selection::lock_all(const machine* mp) noexcept {
  bool by_bias = true;
  for (chan_core **at = locks_, **end = at + locked_; at != end; ++at) by_bias &= lock(**at, mp);
  return by_bias;
}

void selection::unlock_all(const machine* mp) noexcept {
  for (chan_core** at = locks_ + locked_; at != locks_;) unlock(**--at, mp);
}

// Pass 1. Pass 0 ends at a stop request.
std::uint32_t selection::look(wakeup& k) noexcept {
  for (const std::uint32_t *at = poll_order_, *end = at + polled_; at != end; ++at)
    if (WEFT_DCHECK(*at < size_); !looks_blocked(cases_[*at]) && try_locked(cases_[*at], k)) return *at;
  return none;
}

// In the random order: two cases may wait on one channel.
void selection::enqueue(goroutine* gp) noexcept {
  for (const std::uint32_t *at = poll_order_, *end = at + polled_; at != end; ++at) {
    select_case& c = cases_[*at];
    waiter* w = ::new (waiters_ + *at) waiter;
    w->gp = gp;
    w->slot = c.slot;
    w->index = *at;
    w->contested = true;
    rt::enqueue(*c.core, queue_of(c), w);
    sanitizer::hb_release(w);
  }
}

void selection::leave_queues(std::uint32_t fired) noexcept {
  const machine* mp = this_machine();
  for (const std::uint32_t *at = poll_order_, *end = at + polled_; at != end; ++at) {
    if (*at == fired && !early_) continue;
    select_case& c = cases_[*at];
    lock(*c.core, mp);
    remove(queue_of(c), waiters_ + *at);
    unlock(*c.core, mp);
  }
}

void selection::commit(void* arg) noexcept {
  auto* self = static_cast<selection*>(arg);
  goroutine* gp = self->gp_;
  self->unlock_all(this_machine());
  if (gp->wait.commit_parked()) return;   // S4
  self->early_ = true;
  ready(gp);
}

std::uint32_t selection::to_result(woken_by by, std::uint32_t winner) noexcept {
  return by == woken_by::timeout ? select_timed_out : by == woken_by::stop ? select_stopped : winner;
}

// Passes 2 and 3. With the locks, which it gives back.
std::uint32_t selection::park_in_all(wait_scope* scope) noexcept {
  gp_ = current();
  woken_by by = woken_by::waker;
  if (scope) {
    enqueue(gp_);
    by = scope->park(wait_reason::select, commit, this);
  } else {
    gp_->wait.begin();
    enqueue(gp_);
    park(wait_reason::select, commit, this);
  }
  const std::uint32_t fired = to_result(by, gp_->wait.winner());
  leave_queues(fired);
  if (fired < size_) {
    sanitizer::hb_acquire(waiters_ + fired);
    cases_[fired].ok = waiters_[fired].success;
  }
  return fired;
}

std::uint32_t selection::park_in_none(wait_scope* scope) noexcept {
  if (!scope) park_for_ever(wait_reason::select_no_cases);
  gp_ = current();
  return to_result(scope->park(wait_reason::select_no_cases, commit, this), none);
}

// One case is an ordinary operation.
std::uint32_t run_single(const select_request& r) {
  select_case& c = r.cases[0];
  if (r.waits) {
    c.ok = c.is_send ? chan_send(c.core, c.slot) : chan_recv(c.core, c.slot);
    return 0;
  }
  const chan_status status = c.is_send ? chan_try_send(c.core, c.slot) : chan_try_recv(c.core, c.slot);
  c.ok = status == chan_status::done;
  return status == chan_status::would_block ? select_otherwise : 0;
}

}  // namespace

std::uint32_t select_run(const select_request& r) {
  if (!r.limits.any()) {
    if (r.size == 1 && r.cases[0].core) return run_single(r);
    selection s(r);
    if (!r.waits) {
      inside in;   // does not park: keeps its thread
      return s.run(nullptr, false, false);
    }
    inside_parking in;
    return s.run(nullptr, false, false);
  }
  wait_scope scope(r.limits);
  const bool stopped = scope.is_stopped(), expired = scope.is_expired();
  selection s(r);
  inside_parking in;
  return s.run(&scope, stopped, expired);
}

}  // namespace weft::inline v0::rt
