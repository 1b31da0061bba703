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

void revoke(chan_lock& l) noexcept {
  const std::uint16_t owner = l.bias.load(relaxed);  // [order] relaxed: under `shared`
  l.bias.store(chan_lock::nobody, relaxed);          // R1. [order] relaxed: the barrier pair
  heavy_barrier();
  // R2. [order] acquire: pairs with B3
  for (int i = 0; l.in_bias.load(acquire); ++i)
    if (i < spins)
      os::cpu_pause(1);
    else
      os::sleep_ns(patience_ns);
  l.revoked.store(true, relaxed);                    // [order] relaxed: under the lock
  // [order] relaxed: a heuristic
  auto& debt = sched.processors[owner].bias_debt;
  debt.store(std::min(debt.load(relaxed) + price, most_debt), relaxed);
}

}  // namespace

void lock_against_bias(chan_core& c) noexcept {
  c.lock.shared.lock();
  if (!c.lock.revoked.load(relaxed)) [[unlikely]] revoke(c.lock);   // [order] relaxed: under the lock
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
  c.lock.revoked.store(false, relaxed);
}

}  // namespace weft::inline v0::rt
