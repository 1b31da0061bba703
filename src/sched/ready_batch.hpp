// ready_batch.hpp — goroutines that the holder of a timer heap's or a channel's lock has claimed: they are
// made runnable once the lock is released.
#pragma once
#include "base/intrusive.hpp"
#include "sched/goroutine.hpp"

namespace weft::inline v0::rt {

class ready_batch {
 public:
  ready_batch() noexcept = default;
  ready_batch(const ready_batch&) = delete;
  ready_batch& operator=(const ready_batch&) = delete;
  ~ready_batch() { WEFT_DCHECK(list_.empty()); }

  void add(goroutine* gp) noexcept { list_.push_back(gp); }
  bool empty() const noexcept { return list_.empty(); }
  bool is_single() const noexcept { return list_.size() == 1; }
  goroutine* pop() noexcept { return list_.pop_front(); }

 private:
  fifo<goroutine, &goroutine::link> list_;
};

}  // namespace weft::inline v0::rt
