// waiter.hpp — one goroutine waiting on one object (Go's sudog), and the FIFO it waits in.
//
// A waiter lies on the parked goroutine's stack. It is queued and taken out under the object's lock.
//
//   the waker, under the object's lock           then, the lock released
//   while ((w = queue.pop()))
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

class wait_queue {   // doubly linked: a lost case of a select leaves from the middle
 public:
  wait_queue() noexcept = default;
  bool empty() const noexcept { return head_ == nullptr; }
  waiter* front() const noexcept { return head_; }
  void push_back(waiter* w) noexcept {
    w->next = nullptr;
    w->prev = tail_;
    (tail_ ? tail_->next : head_) = w;
    tail_ = w;
    w->queued = true;
  }
  void push_front(waiter* w) noexcept {
    w->prev = nullptr;
    w->next = head_;
    (head_ ? head_->prev : tail_) = w;
    head_ = w;
    w->queued = true;
  }
  waiter* pop() noexcept {
    waiter* w = head_;
    if (w) remove(w);
    return w;
  }
  void remove(waiter* w) noexcept {   // no-op when it was popped already
    if (!w->queued) return;
    (w->prev ? w->prev->next : head_) = w->next;
    (w->next ? w->next->prev : tail_) = w->prev;
    w->queued = false;
  }

 private:
  waiter* head_ = nullptr;
  waiter* tail_ = nullptr;
};

}  // namespace weft::inline v0::rt
