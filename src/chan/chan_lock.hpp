// chan_lock.hpp — a channel's lock, biased: the P that made the channel takes it with plain stores, until
// somebody else wants it. From then on it is an ordinary lock.
//
// A read-modify-write is more than half of an uncontended operation, and most channels are only ever used on
// one P: a hand-off through run_next stays there.
//
//   the P of the bias                          who comes first from elsewhere (revoke)
//   B1  in_bias = 1                            takes `shared`, as everybody else does from now on
//       light barrier                          R1  bias = nobody
//   B2  bias still mine? -> it is locked           heavy barrier
//       else in_bias = 0, take `shared`        R2  waits until in_bias is 0; revoked = true
//   B3  unlock: in_bias = 0
//
// At most one holds it. Let the P hold it by B2, and R2 pass. If the barrier came after B1, R2 waits for B3.
// If before, B2 comes after R1, and sees it.
// `revoked` says how a holder has got it, and so how to unlock: it changes only at R2, when nobody is in the
// bias. What the P did is visible to the revoker by B3 (release) and R2 (acquire); what an earlier M did
// under the bias comes with the P.
//
// A bias that is taken away costs a microsecond or two, so for each that a P loses it makes 512 channels
// without: a channel a request, given to another P each time, pays 4 ns.
// Inside only: a P is used by one M at a time, and none is taken away from an M that is inside.
#pragma once
#include "context/thread_pointer.hpp"
#include "sched/machine.hpp"
#include "sched/processor.hpp"
#include "weft/detail/chan_core.hpp"

namespace weft::inline v0::rt {

void lock_against_bias(chan_core& c) noexcept;               // takes it away, if there is still one
void choose_bias(chan_core& c) noexcept;                     // of a new channel, known to nobody yet; outside

inline std::uint16_t bias_of(const processor* pp) noexcept {
  return pp != nullptr ? static_cast<std::uint16_t>(pp->id) : chan_lock::no_processor;
}

inline void lock(chan_core& c) noexcept {
  if (c.lock.revoked.load(relaxed)) {                        // [order] relaxed: never taken back
    c.lock.shared.lock();
    return;
  }
  const std::uint16_t me = bias_of(this_machine()->pp);
  if (c.lock.bias.load(relaxed) == me) [[likely]] {          // [order] relaxed: asked again at B2
    c.lock.in_bias.store(true, relaxed);                     // B1. [order] relaxed: the barrier pair
    light_barrier();
    if (c.lock.bias.load(relaxed) == me) [[likely]] {        // B2. [order] relaxed: the barrier pair
      rank_acquired(lock_rank::channel, &c.lock.shared);
      return;
    }
    c.lock.in_bias.store(false, release);                    // [order] release: as B3
  }
  lock_against_bias(c);
}

inline void unlock(chan_core& c) noexcept {
  if (c.lock.revoked.load(relaxed)) {                        // [order] relaxed: ours, as the lock is
    c.lock.shared.unlock();
  } else {
    rank_released(lock_rank::channel, &c.lock.shared);
    c.lock.in_bias.store(false, release);                    // B3. [order] release: pairs with R2
  }
}

}  // namespace weft::inline v0::rt
