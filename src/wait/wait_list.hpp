// wait_list.hpp — the operations on weft/detail/wait_list.hpp: what mutex, semaphore, condition variable, ...
// wait in.
//
// Usage, inside:
//     waiting list(impl);                        list.lock();
//     list.lock();                               wakeup k = list.take_one();
//     if (must wait)                             list.unlock();
//       status = list.wait(reason, scope);       k.deliver();
//     else list.unlock();
//
// I1  FIFO, but for wait_first(): one who was woken and lost the race goes to the front
// I2  wait() is entered with the lock held and returns with it released
// I3  a waiter that wait() queued is parked or about to park with the parked bit set: a taker, who holds the
//     lock, never meets it half-way. So a taken goroutine does not run before deliver(): until then the taker
//     may write through its slot, and the object cannot be destroyed by it
// I4  a goroutine that was taken never touches the list again; one that gave up (deadline, stop) takes itself
//     out under the lock. Whoever waits for that lock keeps the object alive
#pragma once
#include "wait/timed_wait.hpp"
#include "weft/detail/wait_list.hpp"

namespace weft::inline v0::rt {

using wait_list_lock = ranked_lock<lock_rank::wait_list>;

struct wait_list_access {
  static wait_list_lock& lock(detail::wait_list& list) noexcept { return list.lock_; }
  static wait_queue& queue(detail::wait_list& list) noexcept { return list.queue_; }
};

class waiting {
 public:
  explicit waiting(detail::wait_list& list) noexcept : waiting(list, list) {}
  // A second list of one object, under the first one's lock.
  waiting(detail::wait_list& list, detail::wait_list& locked_by) noexcept
      : list_(list), lock_(wait_list_access::lock(locked_by)) {}

  void lock() noexcept { lock_.lock(); }
  void unlock() noexcept { lock_.unlock(); }

  // ---- under the lock ----
  // May count waiters that gave up and have not yet taken themselves out.
  bool empty() const noexcept { return list_.seems_empty(); }
  waiter* front() const noexcept { return queue().head.load(relaxed); }   // [order] relaxed: under the lock
  // Takes the longest waiting goroutine that nobody else has woken; `tag`, if given, receives its waiter's
  // slot.
  wakeup take_one(void** tag = nullptr) noexcept;
  // The first or nobody; removes it also when it has given up.
  wakeup take_front(void** tag = nullptr) noexcept;
  std::size_t take_all(ready_batch& out) noexcept;   // how many

  // Parks until taken, the deadline or a stop request. `scope` null: no limits. `slot` is left in the waiter
  // for take_one().
  detail::wait_status wait(wait_reason reason, wait_scope* scope, void* slot = nullptr) noexcept;
  // At the front.
  detail::wait_status wait_first(wait_reason reason, wait_scope* scope, void* slot = nullptr) noexcept;

  // The two halves of wait() for a condition variable, whose mutex is released in between, outside and
  // without this lock. I3 does not hold: a goroutine may be taken before it parks; so the taker must not use
  // its slot.
  // Under the lock.
  void enqueue(waiter& w) noexcept;
  detail::wait_status wait_enqueued(waiter& w, wait_reason reason, wait_scope& scope) noexcept;  // without it

 private:
  detail::wait_status park_queued(waiter& w, wait_reason reason, wait_scope* scope) noexcept;
  detail::wait_status give_up(waiter& w, woken_by by) noexcept;
  wait_queue& queue() const noexcept { return wait_list_access::queue(list_); }

  detail::wait_list& list_;
  wait_list_lock& lock_;
};

}  // namespace weft::inline v0::rt
