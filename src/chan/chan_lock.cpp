// chan_lock.cpp — see chan_lock.hpp.
#include "chan/chan_lock.hpp"

#include <algorithm>

#include "os/linux/pause.hpp"
#include "os/os.hpp"
#include "sched/sched.hpp"

namespace weft::inline v0::rt {
namespace {

constexpr std::uint32_t price = 512, most_debt = 1 << 16;
constexpr int spins = 100;                           // about 1 us, more than any section takes
constexpr std::int64_t patience_ns = 20'000;         // then the owner's thread does not run: let it

}  // namespace

void revoke_bias(chan_core& c) noexcept {
  processor& owner = sched.processors[c.lock.bias.load(relaxed)];   // [order] relaxed: under `shared`
  c.lock.bias.store(chan_lock::nobody, relaxed);     // R1. [order] relaxed: the barrier pair
  heavy_barrier();
  for (int i = 0; owner.biased.lists(&c); ++i)       // R2
    if (i < spins)
      os::cpu_pause(1);
    else
      os::sleep_ns(patience_ns);
  // [order] relaxed: under the lock; a heuristic
  c.lock.is_shared.store(true, relaxed);
  owner.bias_debt.store(std::min(owner.bias_debt.load(relaxed) + price, most_debt), relaxed);
}

void adopt(chan_core& c, processor* pp) noexcept {
  c.lock.uses.store(0, relaxed);                     // [order] relaxed: under the lock
  if (pp == nullptr || c.timed || !pp->biased.push(&c)) return;   // A1
  // [order] relaxed: published by A2
  c.lock.bias.store(bias_of(pp), relaxed);
  c.lock.is_shared.store(false, relaxed);
  c.lock.shared.unlock();                            // A2
  rank_acquired(lock_rank::channel, &c.lock.shared);
}

void choose_bias(chan_core& c) noexcept {
  const machine* mp = this_machine();
  processor* pp = mp != nullptr ? mp->pp : nullptr;  // perhaps not ours any more: any P will do
  if (pp == nullptr) return;
  const std::uint32_t debt = pp->bias_debt.load(relaxed);   // [order] relaxed: a heuristic
  if (debt != 0) {
    pp->bias_debt.store(debt - 1, relaxed);
    return;
  }
  // [order] relaxed: the channel is nobody else's yet
  c.lock.bias.store(bias_of(pp), relaxed);
  c.lock.is_shared.store(false, relaxed);
}

}  // namespace weft::inline v0::rt
