// wait_list.cpp — see wait_list.hpp.
#include "wait/wait_list.hpp"

#include "base/print.hpp"
#include "sched/exit.hpp"
#include "sched/fork.hpp"
#include "sched/inside.hpp"

namespace weft::inline v0::rt {
namespace {

// What the commit needs; on the parked goroutine's stack, so read before that may run again.
struct parking {
  wait_list_lock& lock;
  goroutine* gp;
};

void release_list(void* arg) noexcept { static_cast<parking*>(arg)->lock.unlock(); }

// The parked bit goes first, under the lock: I3. A deadline or a stop request may wake the goroutine from
// then on; it needs the lock before it can go away.
void release_contested(void* arg) noexcept {
  auto [lock, gp] = *static_cast<parking*>(arg);
  const bool claimed = !gp->wait.commit_parked();
  lock.unlock();
  if (claimed) [[unlikely]] ready(gp);
}

void release_nothing(void* arg) noexcept { commit_parked(static_cast<goroutine*>(arg)); }

}  // namespace

wakeup waiting::take_front(void** tag) noexcept {
  waiter* w = front();
  if (!w) return {};
  remove(queue(), w);
  if (tag) *tag = w->slot;   // before the claim: after it an enqueue()d waiter may be gone
  return w->claim();
}

wakeup waiting::take_one(void** tag) noexcept {
  while (!empty())
    if (wakeup k = take_front(tag); k.won) return k;
  return {};
}

std::size_t waiting::take_all(ready_batch& out) noexcept {
  std::size_t taken = 0;
  for (; !empty(); ++taken) {
    wakeup k = take_one();
    if (!k.won) break;
    k.deliver_to(out);
  }
  return taken;
}

detail::wait_status waiting::wait(wait_reason reason, wait_scope* scope, void* slot) noexcept {
  waiter w;
  w.slot = slot;
  push_back(queue(), &w);
  return park_queued(w, reason, scope);
}

detail::wait_status waiting::wait_first(wait_reason reason, wait_scope* scope, void* slot) noexcept {
  waiter w;
  w.slot = slot;
  push_front(queue(), &w);
  return park_queued(w, reason, scope);
}

detail::wait_status waiting::park_queued(waiter& w, wait_reason reason, wait_scope* scope) noexcept {
  w.gp = current();
  parking p{lock_, w.gp};
  if (!scope) {
    park(reason, release_list, &p);
    return detail::wait_status::done;
  }
  w.contested = true;
  return give_up(w, scope->park(reason, release_contested, &p));
}

void waiting::enqueue(waiter& w) noexcept {
  w.gp = current();
  w.contested = true;
  push_back(queue(), &w);
}

detail::wait_status waiting::wait_enqueued(waiter& w, wait_reason reason, wait_scope& scope) noexcept {
  return give_up(w, scope.park(reason, release_nothing, w.gp));
}

detail::wait_status waiting::give_up(waiter& w, woken_by by) noexcept {
  if (by == woken_by::waker) return detail::wait_status::done;   // I4
  lock();
  remove(queue(), &w);
  unlock();
  return by == woken_by::timeout ? detail::wait_status::timed_out : detail::wait_status::stopped;
}

}  // namespace weft::inline v0::rt

namespace weft::inline v0::detail {

void wait_list::check_destroyed_slow(const char* kind) noexcept {
  if (rt::in_forked_child() || rt::process_exits()) return;
  rt::inside in;
  rt::waiting list(*this);
  list.lock();
  for (rt::waiter* w = list.front(); w; w = w->next)
    if (w->gp->status.load(rt::relaxed) != rt::g_status::abandoned) {   // [order] relaxed: a diagnosis
      rt::begin_fatal();
      rt::printer() << "fatal error: " << kind << " destroyed while goroutine " << w->gp->id
                    << " waits in it\n";
      rt::finish_fatal(2);
    }
  list.unlock();
}

}  // namespace weft::inline v0::detail
