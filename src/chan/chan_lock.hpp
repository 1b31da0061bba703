// chan_lock.hpp — a channel's lock, biased: one P takes it with plain stores, until somebody else wants it.
// Then it is an ordinary lock, until one P has used it alone for long.
//
// A read-modify-write is more than half of an uncontended operation, and most channels are only ever used on
// one P at a time: a hand-off through run_next stays there.
//
//   the P of the bias                          who comes from elsewhere (revoke)
//   B1  writes the channel's address among     takes `shared`, as everybody else does from now on
//       the locks that it holds by a bias      R1  bias = nobody
//       light barrier                              heavy barrier
//   B2  bias still mine? -> it is locked       R2  waits until that P does not list the channel;
//       else strikes it out, takes `shared`        is_shared = true
//   B3  unlock: strikes it out
//
//   who has taken `shared` on one P 1,024 times in a row (adopt)
//   A1  lists the channel as in B1; bias = its P, is_shared = false
//   A2  gives `shared` back: it has the lock by the bias now
//
// At most one holds it. Everybody else goes through `shared` and so, as long as there is a bias, through
// revoke. Let the P hold it by B2, and R2 pass. If the P's barrier came after B1, R2 waits for B3. If before,
// B2 comes after R1 and reads `nobody` or a later owner: not this P, because only a P itself adopts for
// itself, and this one is busy here. A P that is late and lists a channel that is no more its own strikes it
// out again: the list is its own, so that disturbs nobody.
// `is_shared` says how a holder has got the lock, and so how to unlock. It changes at R2 and A1, by a holder.
// What the P did is visible to the revoker by B3 (release) and R2 (acquire), what others did to the P by its
// own `shared` before A1; what an earlier M did under the bias comes with the P.
//
// A bias that is taken away costs a microsecond or two, one that is there saves some 4 ns a use. Hence 1,024
// uses before an adoption; and for each bias that a P loses it makes 512 channels without.
// Inside only: a P is used by one M at a time, and none is taken away from an M that is inside.
#pragma once
#include "context/thread_pointer.hpp"
#include "sched/machine.hpp"
#include "sched/processor.hpp"
#include "weft/detail/chan_core.hpp"

namespace weft::inline v0::rt {

void revoke_bias(chan_core& c) noexcept;                     // R1 and R2. With `shared`, which it keeps
void adopt(chan_core& c, processor* pp) noexcept;            // A1 and A2, or nothing. With `shared`
void choose_bias(chan_core& c) noexcept;                     // of a new channel, known to nobody yet; outside

inline std::uint16_t bias_of(const processor* pp) noexcept {
  return pp != nullptr ? static_cast<std::uint16_t>(pp->id) : chan_lock::no_processor;
}

inline bool lock_by_bias(chan_core& c, processor* pp, std::uint16_t me) noexcept {
  if (!pp->biased.push(&c)) [[unlikely]] return false;       // B1
  light_barrier();
  if (c.lock.bias.load(relaxed) == me) [[likely]] {          // B2. [order] relaxed: the barrier pair
    rank_acquired(lock_rank::channel, &c.lock.shared);
    return true;
  }
  pp->biased.pop(&c);
  return false;
}

// `mp`: the calling thread's, for whoever knows it anyhow. True: by the bias. Then nobody else has been in
// the lock since this thread came inside, or last locked it.
inline bool lock(chan_core& c, const machine* mp = this_machine()) noexcept {
  chan_lock& l = c.lock;
  processor* pp = mp->pp;
  const std::uint16_t me = bias_of(pp);
  if (l.bias.load(relaxed) == me && lock_by_bias(c, pp, me)) return true;   // [order] relaxed: B2
  l.shared.lock();
  // [order] relaxed, these: under the lock
  if (!l.is_shared.load(relaxed)) [[unlikely]] revoke_bias(c);
  if (l.last_user.load(relaxed) != me) {
    l.last_user.store(me, relaxed);
    l.uses.store(0, relaxed);
    return false;
  }
  const auto uses = static_cast<std::uint16_t>(l.uses.load(relaxed) + 1);
  l.uses.store(uses, relaxed);
  if (uses == chan_lock::uses_to_adopt) [[unlikely]] adopt(c, pp);
  return false;
}

inline void unlock(chan_core& c, const machine* mp = this_machine()) noexcept {
  if (c.lock.is_shared.load(relaxed)) {                      // [order] relaxed: ours, as the lock is
    c.lock.shared.unlock();
  } else {
    rank_released(lock_rank::channel, &c.lock.shared);
    mp->pp->biased.pop(&c);                                  // B3: those of a select in the reverse order
  }
}

}  // namespace weft::inline v0::rt
