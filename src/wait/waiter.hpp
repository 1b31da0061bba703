// waiter.hpp — one goroutine waiting on one object (Go's sudog).
//
// A waiter lies on the parked goroutine's stack. It is queued and taken out under the object's lock.
//
//   the waker, under the object's lock           then, the lock released
//   while ((w = the first in the queue, taken out))
//     if (wakeup k = w->claim(); k.won) {
//       complete the operation in *w;            k.deliver()
//       break; }
//
// I1  whoever pops a waiter must claim it; a lost claim means that another waker (another case, a deadline, a
//     stop request, the end of its world) has it: skip it
// I2  the waker writes *w only between a won claim and deliver(): after deliver() the waiter's memory is
//     gone. A waiter claimed `early` (nobody to deliver) may run at once: its owner must either take the lock
//     again before it returns, or set the parked bit before it releases the lock, so that no holder of the
//     lock ever meets it early
// I3  a waiter that was not popped by its waker is taken out by its own goroutine, under the lock, before it
//     returns
#pragma once
#include "sched/park.hpp"
#include "weft/detail/wait_queue.hpp"

namespace weft::inline v0::rt {

struct [[nodiscard]] wakeup {
  goroutine* gp = nullptr;   // to be made runnable; null when its own commit will do that
  bool won = false;
  void deliver() noexcept { if (gp) ready(gp); }
  void deliver_to(ready_batch& batch) noexcept { if (gp) batch.add(gp); }
};

struct waiter {
  waiter* next = nullptr;
  waiter* prev = nullptr;
  goroutine* gp = nullptr;
  void* slot = nullptr;              // the value to send, the place to receive into
  std::uint32_t index = 0;           // which case of a select
  bool contested = false;            // others may wake it too: claim through gp->wait
  bool success = false;              // completed with a value; false: woken by close
  bool queued = false;

  wakeup claim() noexcept {
    // A finished world stays finished. [order] relaxed: the object's lock came after.
    if (gp->status.load(relaxed) == g_status::abandoned) [[unlikely]] return {};
    if (!contested) return {gp, true};
    switch (gp->wait.claim(index)) {
      case wait_word::claimed::lost: return {};
      case wait_word::claimed::early: return {nullptr, true};
      case wait_word::claimed::parked: break;
    }
    return {gp, true};
  }
};

// ---- the queue; under its object's lock ----

inline void push_back(wait_queue& q, waiter* w) noexcept {
  w->next = nullptr;
  w->prev = q.tail;
  // [order] release, here and below: pairs with the looks without the lock; who sees a waiter sees what was
  // done before. relaxed: changed under the lock
  if (q.tail) q.tail->next = w; else q.head.store(w, release);
  q.tail = w;
  w->queued = true;
}

inline void push_front(wait_queue& q, waiter* w) noexcept {
  w->prev = nullptr;
  w->next = q.head.load(relaxed);                   // [order] as in push_back()
  (w->next ? w->next->prev : q.tail) = w;
  q.head.store(w, release);                         // [order] as in push_back()
  w->queued = true;
}

inline void remove(wait_queue& q, waiter* w) noexcept {   // no-op when it was taken out already
  if (!w->queued) return;
  if (w->prev) w->prev->next = w->next; else q.head.store(w->next, release);   // [order] as in push_back()
  (w->next ? w->next->prev : q.tail) = w->prev;
  w->queued = false;
}

}  // namespace weft::inline v0::rt
