// ready_batch.hpp — what a holder of a timer heap's lock has decided, to be carried out once the lock is released:
// goroutines to make runnable, and actions (a timer's function, a tick into a channel).
#pragma once
#include "base/intrusive.hpp"
#include "sched/goroutine.hpp"

namespace weft::inline v0::rt {

// Embedded in whatever the action is about, which stays alive until run() is called. Inside, no lock held.
struct deferred_action {
  deferred_action* next_deferred = nullptr;
  void (*run)(deferred_action* self) noexcept = nullptr;
};

class ready_batch {
 public:
  ready_batch() noexcept = default;
  ready_batch(const ready_batch&) = delete;
  ready_batch& operator=(const ready_batch&) = delete;
  ~ready_batch() { WEFT_DCHECK(list_.empty() && actions_.empty()); }

  void add(goroutine* gp) noexcept { list_.push_back(gp); }
  void defer(deferred_action* action) noexcept { actions_.push_back(action); }
  bool empty() const noexcept { return list_.empty() && actions_.empty(); }
  goroutine* pop() noexcept { return list_.pop_front(); }
  // ready_all() does this after the goroutines. An action may free its own node.
  void run_deferred() noexcept {
    while (deferred_action* action = actions_.pop_front()) action->run(action);
  }

 private:
  fifo<goroutine, &goroutine::link> list_;
  fifo<deferred_action, &deferred_action::next_deferred> actions_;
};

}  // namespace weft::inline v0::rt
