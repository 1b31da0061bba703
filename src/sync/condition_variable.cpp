// condition_variable.cpp — queue first, then release the mutex, then park.
//
// A waiter stands in the line before its mutex is free, so whoever changes the condition under the mutex
// afterwards finds it there: no notification is lost, and the order of the line is the order of the waits. It
// may be notified before it parks: its wait word keeps that (sched/goroutine.hpp), and the park ends at once.
// Go takes a ticket instead and queues after the unlock; that has no room for a waiter that gives up.
#include "weft/condition_variable.hpp"

#include <system_error>

#include "context/sanitizer.hpp"
#include "sched/inside.hpp"
#include "wait/wait_list.hpp"

namespace weft::inline v0 {

detail::wait_status condition_variable::wait_for_notice(std::unique_lock<mutex>& lock,
                                                        const detail::wait_limits& limits) {
  if (!lock.owns_lock()) throw std::system_error(std::make_error_code(std::errc::operation_not_permitted));
  detail::wait_status status;
  {
    rt::wait_scope scope(limits);
    if (scope.is_stopped()) return detail::wait_status::stopped;
    rt::waiting list(list_);
    rt::waiter me;
    {
      // An exit() that was swallowed is thrown here, not between the queue and the park.
      rt::inside_parking in;
      list.lock();
      list.enqueue(me);
      list.unlock();
    }
    rt::sanitizer::hb_release(lock.mutex());   // this file is not instrumented; a mutex begins with its state
    lock.unlock();
    {
      rt::inside_parking in;
      status = list.wait_enqueued(me, rt::wait_reason::cond_wait, scope);
    }
  }
  lock.lock();
  rt::sanitizer::hb_acquire(lock.mutex());
  return status;
}

void condition_variable::notify_slow(bool all) noexcept {
  rt::inside in;
  rt::waiting list(list_);
  rt::ready_batch woken;
  list.lock();
  if (all)
    list.take_all(woken);
  else
    list.take_one().deliver_to(woken);
  list.unlock();
  rt::ready_all(woken);
}

}  // namespace weft::inline v0
