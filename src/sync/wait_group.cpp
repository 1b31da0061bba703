// wait_group.cpp — waiting for zero, and letting everybody go.
//
// I1  `waiters` is set under the list's lock while the counter is above zero; the step to zero with `waiters`
//     set is made under the lock, clears it and takes everybody
// I2  that step holds the taken waiters back until it has left the lock, and one that gave up needs the lock:
//     the core lives until then. Without anybody in the list `waiters` is cleared first and the fast path
//     makes the step
// Go keeps a count of waiters and tells misuse ("Add called concurrently with Wait") from states that lie
// between two of its steps; ours is one step, there is nothing in between.
#include "weft/wait_group.hpp"

#include <stdexcept>

#include "context/sanitizer.hpp"
#include "sched/inside.hpp"
#include "wait/wait_list.hpp"

namespace weft::inline v0 {

wait_group::wait_group() : core_(new detail::wait_group_core) {}

}  // namespace weft::inline v0

namespace weft::inline v0::detail {

using namespace rt;   // the runtime's names, in this file only

void wait_group_core::throw_negative() { throw std::logic_error("sync: negative WaitGroup counter"); }

bool wait_group_core::finish(std::int32_t delta) noexcept {
  inside in;
  sanitizer::hb_release(&word_);
  waiting list(list_);
  ready_batch woken;
  list.lock();
  bool finished = false;
  if (list.empty()) {
    word_.fetch_and(~waiters, relaxed);   // I2. [order] relaxed: nothing is published
  } else {
    std::int64_t seen = word_.load(relaxed);   // [order] relaxed: the exchange decides
    while (!finished && seen + delta * one == waiters)
      // [order] release pairs with is_zero().
      finished = word_.compare_exchange_weak(seen, 0, release, relaxed);
    if (finished) list.take_all(woken);
  }
  list.unlock();
  ready_all(woken);
  return finished;
}

bool wait_group_core::wait_slow(const wait_limits& limits) {
  bool zero, reused = false;
  {
    maybe_wait_scope scope(limits);
    inside_parking in;
    waiting list(list_);
    list.lock();
    std::int64_t seen = word_.load(acquire);   // [order] acquire pairs with add()
    while (seen >= one && !(seen & waiters))
      if (word_.compare_exchange_weak(seen, seen | waiters, acquire, acquire)) break;   // [order] as above
    zero = seen < one;
    if (zero || scope.has_ended()) {
      list.unlock();
    } else {
      zero = list.wait(wait_reason::wait_group_wait, scope.get()) == wait_status::done;
      reused = zero && !is_zero();
    }
    if (zero) sanitizer::hb_acquire_word(word_);
  }
  if (reused) throw std::logic_error("sync: WaitGroup is reused before previous Wait has returned");
  return zero;
}

}  // namespace weft::inline v0::detail
