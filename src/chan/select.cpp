// select.cpp — one of several sends and receives, decided at one instant (weft/detail/select_case.hpp).
//
//   lock all channels, by address, each once
//   pass 1   in random order: the first case that can go, goes          unlock, wake its peer, done
//            none: otherwise, or a deadline in the past                 unlock, done
//   pass 2   a contested waiter in every queue, park                    the commit unlocks, commit_parked
//   pass 3   take the waiters out again, channel by channel; the one that fired is out already
//
// S1  between lock_all and unlock_all nothing about the cases can change, so `otherwise` is taken only if no
//     case was ready at that instant
// S2  the goroutine's wait word has one winner; its value is the index of the case. A waker that claimed
//     before commit_parked (`early_`) completes its writes under its channel's lock, which pass 3 then takes
//     too; one that claimed later has completed them before its ready()
// S3  the cases of one select never meet each other: pass 1 queues nothing, wakers claim by the wait word
// S4  the commit may use the request: nobody can resume the goroutine before commit_parked, its last step
// S5  a stop request that came before the call is one more ready case, as likely as any other
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
        poll_order_(reinterpret_cast<std::uint32_t*>(waiters_ + r.size)),
        lock_order_(poll_order_ + r.size + 1) {}

  // Inside. `scope` null: no limits.
  std::uint32_t run(wait_scope* scope, bool stop_requested, bool expired) noexcept;

 private:
  static constexpr std::uint32_t none = 0xfffffff0;
  static_assert(sizeof(waiter) <= 40 && select_scratch_size(1) >= sizeof(waiter) + 3 * sizeof(std::uint32_t));

  void make_orders(const std::uint32_t* extra) noexcept;
  void lock_all() noexcept;
  void unlock_all() noexcept;
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
  std::uint32_t live_ = 0;               // cases whose channel is not nil
  bool waits_;
  waiter* waiters_;                      // by case index; only those in queues are constructed
  std::uint32_t* poll_order_;            // of the live cases, and perhaps size_ for the stop request
  std::uint32_t* lock_order_;            // of the live cases
  std::uint32_t polled_ = 0;
  goroutine* gp_ = nullptr;
  bool early_ = false;                   // a waker claimed before the park was committed
};

std::uint32_t selection::run(wait_scope* scope, bool stop_requested, bool expired) noexcept {
  make_orders(stop_requested ? &size_ : nullptr);
  if (live_ == 0) {
    if (stop_requested) return select_stopped;
    if (!waits_) return select_otherwise;
    return expired ? select_timed_out : park_in_none(scope);
  }
  lock_all();
  wakeup k;
  std::uint32_t fired = look(k);
  if (fired == none && waits_ && !expired) return park_in_all(scope);
  unlock_all();
  k.deliver();
  if (fired == none) return waits_ ? select_timed_out : select_otherwise;
  return fired == size_ ? select_stopped : fired;
}

void selection::make_orders(const std::uint32_t* extra) noexcept {
  polled_ = make_poll_order(cases_, size_, extra, poll_order_, this_machine()->random);
  for (std::uint32_t i = 0; i < polled_; ++i)
    if (poll_order_[i] != size_) lock_order_[live_++] = poll_order_[i];
  make_lock_order(cases_, lock_order_, live_);
}

void selection::lock_all() noexcept {
  chan_core* last = nullptr;
  for (std::uint32_t i = 0; i < live_; ++i) {
    chan_core* c = cases_[lock_order_[i]].core;
    if (c != last) lock(*c);
    last = c;
  }
}

void selection::unlock_all() noexcept {
  chan_core* last = nullptr;
  for (std::uint32_t i = live_; i-- > 0;) {
    chan_core* c = cases_[lock_order_[i]].core;
    if (c != last) unlock(*c);
    last = c;
  }
}

// Pass 1. A closed channel's case is ready too: it fires with ok == false.
std::uint32_t selection::look(wakeup& k) noexcept {
  for (std::uint32_t i = 0; i < polled_; ++i) {
    const std::uint32_t index = poll_order_[i];
    if (index == size_) return index;   // S5
    select_case& c = cases_[index];
    const attempt how = c.is_send ? send_locked(*c.core, c.slot, k) : recv_locked(*c.core, c.slot, k);
    if (how == attempt::blocked) continue;
    c.ok = how == attempt::done;
    return index;
  }
  return none;
}

void selection::enqueue(goroutine* gp) noexcept {
  for (std::uint32_t i = 0; i < live_; ++i) {
    const std::uint32_t index = lock_order_[i];
    waiter* w = ::new (waiters_ + index) waiter;
    w->gp = gp;
    w->slot = cases_[index].slot;
    w->index = index;
    w->contested = true;
    rt::enqueue(*cases_[index].core, queue_of(cases_[index]), w);
    sanitizer::hb_release(w);
  }
}

void selection::leave_queues(std::uint32_t fired) noexcept {
  for (std::uint32_t i = 0; i < live_; ++i) {
    const std::uint32_t index = lock_order_[i];
    if (index == fired && !early_) continue;
    chan_core* c = cases_[index].core;
    lock(*c);
    remove(queue_of(cases_[index]), waiters_ + index);
    unlock(*c);
  }
}

void selection::commit(void* arg) noexcept {
  auto* self = static_cast<selection*>(arg);
  goroutine* gp = self->gp_;
  self->unlock_all();
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
