// latch.cpp — waiting for a latch, and letting everybody go.
//
// I1  `waiters` is set under the list's lock while the counter is above zero, so the last count_down() sees
//     it
// I2  the last count_down() takes the waiters first and publishes the zero last: whoever sees the zero may
//     destroy the latch, and the ones taken are woken only after that
#include "weft/latch.hpp"

#include "context/sanitizer.hpp"
#include "sched/inside.hpp"
#include "wait/wait_list.hpp"

namespace weft::inline v0 {

using namespace rt;   // the runtime's names, in this file only

bool latch::wait_slow(const detail::wait_limits& limits) const {
  maybe_wait_scope scope(limits);
  inside_parking in;
  waiting list(list_);
  list.lock();
  std::int64_t seen = word_.load(acquire);   // [order] acquire pairs with count_down()
  while (seen >= one && !(seen & waiters))
    if (word_.compare_exchange_weak(seen, seen | waiters, acquire, acquire)) break;   // [order] as above
  const bool ended = scope.has_ended();
  bool zero = seen < one;
  if (zero || ended)
    list.unlock();
  else
    zero = list.wait(wait_reason::latch_wait, scope.get()) == detail::wait_status::done;
  if (zero) sanitizer::hb_acquire_word(word_);
  return zero;
}

void latch::finish(std::ptrdiff_t n) noexcept {
  inside in;
  sanitizer::hb_release(&word_);
  waiting list(list_);
  ready_batch woken;
  std::int64_t seen;
  do {
    list.lock();
    list.take_all(woken);
    word_.fetch_and(~waiters, relaxed);   // [order] relaxed: under the lock; the zero comes below
    list.unlock();
    seen = n * one;
    // [order] release pairs with try_wait(). Fails when others queued again or, before us, counted down.
  } while (!word_.compare_exchange_strong(seen, 0, release, relaxed));
  ready_all(woken);
}

}  // namespace weft::inline v0
