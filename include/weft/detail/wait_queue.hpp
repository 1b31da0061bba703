// wait_queue.hpp — a FIFO of waiters through links of their own; its operations: src/wait/waiter.hpp.
#pragma once
#include "weft/detail/atomic.hpp"

namespace weft::inline v0::rt {

struct waiter;

// The longest waiting first. Changed under the lock of the object it belongs to; whether there is a first one
// may be looked at without.
struct wait_queue {
  atomic<waiter*> head{nullptr};
  waiter* tail = nullptr;
};

}  // namespace weft::inline v0::rt
