// raw_lock.cpp — the slow halves of raw_lock: spin, then sleep; wake one.
#include "base/raw_lock.hpp"

#include "os/linux/pause.hpp"
#include "os/os.hpp"

namespace weft::inline v0::rt {
namespace {

// About 1 us in all, more than any section under a raw_lock takes; a sleep and a wake-up cost 6 us and more.
constexpr int spin_rounds = 4;
constexpr int pauses_a_round = 30;

}  // namespace

constinit atomic<std::uint32_t> raw_lock::sleepers_[raw_lock::sleeper_counts] = {};

bool raw_lock::spin() noexcept {
  for (int round = 0; os::several_cpus() && round < spin_rounds; ++round) {
    os::cpu_pause(pauses_a_round);
    // [order] acquire: as in lock(). The load first keeps the line shared while somebody holds the lock.
    if (held_.load(relaxed) == 0 && held_.exchange(1, acquire) == 0) return true;
  }
  return false;
}

void raw_lock::lock_slow() noexcept {
  if (spin()) return;
  // S1 and S2 of the header's proof. [order] relaxed: the barrier orders it.
  sleepers_of(this).fetch_add(1, relaxed);
  heavy_barrier();
  // S3. [order] acquire: as in lock(). A signal or a false wake-up only means another turn. Whoever was woken
  // spins again: a wake-up takes so long that a thread which locks in a loop has the lock back by then.
  while (held_.exchange(1, acquire) != 0) {
    os::futex_wait(&held_, 1);
    if (spin()) break;
  }
  // Only now, as the holder: until here every unlocker had to see this thread.
  sleepers_of(this).fetch_sub(1, relaxed);   // [order] relaxed: our unlock() publishes it with the rest
}

// The address is only a key for the kernel. Sleepers of another lock in the same place see nothing of it.
void raw_lock::wake_slow(raw_lock* perhaps_gone) noexcept { os::futex_wake(&perhaps_gone->held_, 1); }

}  // namespace weft::inline v0::rt
