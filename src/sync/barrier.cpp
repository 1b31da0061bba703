// barrier.cpp — waiting for a phase, and the step to the next one.
//
// I1  `waiters` is set under the list's lock while the phase lasts, so next_phase() sees it
// I2  next_phase() takes the waiters first and publishes the phase last: whoever sees it may destroy the
//     barrier, and the ones taken are woken only after that
#include "weft/barrier.hpp"

#include "context/sanitizer.hpp"
#include "sched/inside.hpp"
#include "wait/wait_list.hpp"

namespace weft::inline v0::detail {

using namespace rt;   // the runtime's names, in this file only

void barrier_core::wait_slow(std::uint32_t phase) {
  inside_parking in;
  waiting list(list_);
  list.lock();
  std::uint64_t seen = word_.load(acquire);   // [order] acquire pairs with next_phase()
  while (phase_of(seen) == phase && !(seen & waiters))
    if (word_.compare_exchange_weak(seen, seen | waiters, acquire, acquire)) break;   // [order] as above
  if (phase_of(seen) == phase)
    static_cast<void>(list.wait(wait_reason::barrier_wait, nullptr));
  else
    list.unlock();
  sanitizer::hb_acquire(&word_);
}

void barrier_core::next_phase() noexcept {
  inside in;
  sanitizer::hb_release(&word_);
  waiting list(list_);
  ready_batch woken;
  std::uint64_t seen = word_.load(relaxed);   // [order] relaxed: only waiters can change it now
  for (;;) {
    if (seen & waiters) {
      list.lock();
      list.take_all(woken);
      seen = word_.fetch_and(~waiters, relaxed) & ~waiters;   // [order] relaxed: under the lock
      list.unlock();
    }
    const auto missing = static_cast<std::uint64_t>(expected_.load(relaxed));   // [order] relaxed: see drop()
    const std::uint64_t next = (static_cast<std::uint64_t>(phase_of(seen)) + 1) << 33 | missing;
    // [order] release pairs with wait().
    if (word_.compare_exchange_strong(seen, next, release, relaxed)) break;
  }
  ready_all(woken);
}

}  // namespace weft::inline v0::detail
