// note.cpp — the two halves of a note.
#include "base/note.hpp"

#include <errno.h>

namespace weft::inline v0::rt {

bool note::sleep(std::int64_t deadline) noexcept {
  for (;;) {
    // [order] acquire pairs with wake()'s release: the sleeper sees what each waker did before.
    std::uint32_t seen = set;
    if (word_.compare_exchange_strong(seen, clear_, acquire, acquire)) return true;
    // Still asleep: after a signal. [order] relaxed: a wake that comes in between is seen in the next round.
    if (seen == clear_ && !word_.compare_exchange_strong(seen, asleep, relaxed, relaxed)) continue;
    if (os::futex_wait(&word_, asleep, deadline) == -ETIMEDOUT) return word_.exchange(clear_, acquire) == set;
  }
}

void note::wake() noexcept {
  // [order] release pairs with sleep()'s acquire; an exchange, so that a wake on top of another keeps both
  // edges.
  if (word_.exchange(set, release) == asleep) os::futex_wake(&word_, 1);
}

}  // namespace weft::inline v0::rt
