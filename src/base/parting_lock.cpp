// parting_lock.cpp — the slow halves of parting_lock: spin a little, then sleep in state `contended`.
#include "weft/detail/parting_lock.hpp"

#include "os/linux/pause.hpp"
#include "os/os.hpp"

namespace weft::inline v0::rt {

void parting_lock::lock_slow() noexcept {
  constexpr int rounds = 4, pauses_a_round = 30;   // as raw_lock: a section under it takes less
  for (int i = 0; i < rounds; ++i) {
    os::cpu_pause(pauses_a_round);
    std::uint32_t seen = word_.load(relaxed);      // [order] relaxed: only to choose
    // [order] acquire: as in lock(). The state stays `held`: sleepers, if any, are in `contended` and not
    // spun past.
    if (seen == free && word_.compare_exchange_strong(seen, held, acquire, relaxed)) return;
  }
  // Whoever takes it here cannot know whether others sleep, so it leaves `contended` behind: one wake-up too
  // many at the end. [order] acquire: as in lock().
  while (word_.exchange(contended, acquire) != free) os::futex_wait(&word_, contended);
}

void parting_lock::wake(const atomic<std::uint32_t>* address) noexcept { os::futex_wake(address, 1); }

}  // namespace weft::inline v0::rt
