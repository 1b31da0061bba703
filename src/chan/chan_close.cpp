// chan_close.cpp — the end of a channel: close, and the end of its last handle.
//
// close empties both queues under the lock and wakes everybody after it. Those whom another waker has claimed
// stay that waker's; a contested waiter claimed before its commit is made runnable by the commit itself.
#include <new>

#include "base/check.hpp"
#include "base/print.hpp"
#include "chan/chan_ops.hpp"
#include "sched/exit.hpp"
#include "sched/fork.hpp"
#include "sched/inside.hpp"

namespace weft::inline v0::rt {
namespace {

void take_all(wait_queue& q, ready_batch& woken) noexcept {
  wakeup k;
  while (waiter* w = take(q, k)) {   // success stays false: woken by close
    hb_meet(w);
    k.deliver_to(woken);
  }
}

// Whoever waits uses a handle that has gone. A goroutine of a finished world waits for nothing any more.
// True: some wait, but the process exits.
bool somebody_waits(chan_core& c) noexcept {
  for (wait_queue* q : {&c.receivers, &c.senders})
    for (waiter* w = q->head.load(relaxed); w; w = w->next)   // [order] relaxed: the last handle is ours
      if (w->gp->status.load(relaxed) != g_status::abandoned) {   // [order] relaxed: a diagnosis
        if (process_exits()) return true;
        begin_fatal();
        printer() << "fatal error: channel destroyed while goroutine " << w->gp->id << " waits in it\n";
        finish_fatal(2);
      }
  return false;
}

}  // namespace

bool chan_close(chan_core* c) noexcept {
  ready_batch woken;
  inside in;
  lock(*c);
  const bool first = !c->closed.load(relaxed);   // [order] relaxed: changed under the lock
  if (first) {
    sanitizer::hb_release(c);
    c->closed.store(true, release);   // [order] release: pairs with the lock-free looks
    take_all(c->receivers, woken);
    take_all(c->senders, woken);
  }
  unlock(*c);
  ready_all(woken);
  return first;
}

void chan_destroy(chan_core* c) noexcept {
  if (in_forked_child()) return;
  // [order] relaxed: ours alone
  if (c->receivers.head.load(relaxed) || c->senders.head.load(relaxed)) [[unlikely]]
    if (somebody_waits(*c)) return;
  if (c->timed) return timer_channel_destroy(c);
  if (c->drop) {
    // [order] relaxed: ours alone. A value's destructor may use other channels, so we are outside.
    for (std::uint32_t n = c->count.load(relaxed); n != 0; --n) {
      c->drop(c->slot(c->recv_at));
      advance(c->recv_at, *c);
    }
  }
  c->~chan_core();
  ::operator delete(static_cast<void*>(c));
}

}  // namespace weft::inline v0::rt
