// let_go.cpp — see let_go.hpp.
//
// Such a thread waits in wait_for_p_here(), in the signal handler, with any lock of libc. It leaves the queue
// and the handler, and runs on as if its P had been claimed, to its next call of Weft.
#include "sched/let_go.hpp"

namespace weft::inline v0::rt {

bool let_go_stopped() noexcept {
  constexpr std::size_t most = 64;                   // a round
  machine* gone[most];
  std::size_t n = 0;
  {
    locked hold(sched.lock);
    // [order] relaxed: written before it took the lock to wait
    const auto is_in_handler = [](machine* mp) noexcept { return mp->interrupted.load(relaxed); };
    while (n < most && (gone[n] = sched.global.take_thread_if(is_in_handler)) != nullptr) {
      gone[n]->waits_for_p = false;
      gone[n]->goes_without_p.store(true, release);  // [order] release: pairs with wait_for_p_here()
      ++n;
    }
  }
  for (std::size_t i = 0; i < n; ++i) gone[i]->park_note.wake();
  return n != 0;
}

}  // namespace weft::inline v0::rt
