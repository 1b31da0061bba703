// note.cpp — the two halves of a note.
#include "base/note.hpp"

#include <errno.h>

namespace weft::inline v0::rt {

bool note::sleep(std::int64_t deadline) noexcept {
  for (;;) {
    // [order] acquire pairs with wake()'s release: the sleeper sees what each waker did before.
    if (word_.exchange(0, acquire) != 0) return true;
    if (os::futex_wait(&word_, 0, deadline) == -ETIMEDOUT) return word_.exchange(0, acquire) != 0;
  }
}

void note::wake() noexcept {
  // [order] release pairs with sleep()'s acquire; an exchange, so that a wake on top of another keeps both
  // edges.
  if (word_.exchange(1, release) == 0) os::futex_wake(&word_, 1);
}

}  // namespace weft::inline v0::rt
