// once.cpp — waiting for the one that runs, and letting everybody go.
//
// I1  `waiters` is set under the list's lock while somebody runs, so end() sees it
// I2  end() takes the waiters first and publishes the new state last: whoever sees it may destroy the flag,
//     and the ones taken are woken only after that
#include "weft/once.hpp"

#include "context/sanitizer.hpp"
#include "sched/inside.hpp"
#include "wait/wait_list.hpp"

namespace weft::inline v0 {

bool once_flag::begin() {
  rt::inside_parking in;
  rt::waiting list(list_);
  std::uint32_t seen = state_.load(rt::acquire);   // [order] acquire, here and below, pairs with end()
  for (;;) {
    if (seen == untouched) {
      if (state_.compare_exchange_weak(seen, running, rt::acquire, rt::acquire)) {
        rt::sanitizer::hb_acquire(&state_);
        return true;
      }
      continue;
    }
    if (seen == done) break;
    list.lock();
    seen = state_.load(rt::acquire);   // [order] as above
    if ((seen & running) &&
        state_.compare_exchange_strong(seen, running | waiters, rt::acquire, rt::acquire))
      static_cast<void>(list.wait(rt::wait_reason::once_wait, nullptr));
    else
      list.unlock();
    seen = state_.load(rt::acquire);
  }
  rt::sanitizer::hb_acquire(&state_);
  return false;
}

void once_flag::end(bool is_done_now) noexcept {
  rt::inside in;
  rt::sanitizer::hb_release(&state_);
  rt::waiting list(list_);
  rt::ready_batch woken;
  std::uint32_t seen = running;
  // [order] release pairs with begin() and is_done().
  while (!state_.compare_exchange_strong(seen, is_done_now ? done : untouched, rt::release, rt::relaxed)) {
    list.lock();
    list.take_all(woken);
    state_.store(running, rt::relaxed);   // [order] relaxed: under the lock, and only we end it
    list.unlock();
    seen = running;
  }
  rt::ready_all(woken);
}

}  // namespace weft::inline v0
