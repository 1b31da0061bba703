// standby.cpp — sysmon sleeps in the poller while no M does: every P is busy, and has not looked there for a
// while.
//
// So what the kernel makes ready is known at once. It goes to the global queue, and whoever computes loses
// his P to it early (is_kept_waiting, preempt.cpp).
//
// Not while Ps look by themselves: each of them takes what is ready in one call, and would find nothing left.
#include <algorithm>

#include "os/os.hpp"
#include "sched/sched.hpp"
#include "sched/threads.hpp"

namespace weft::inline v0::rt {
namespace {

// A P that switches looks when it has nothing left to do, a P in a computation does not.
constexpr std::int64_t patience_if_it_switches = 5'000'000, patience = 200'000;   // ns

struct last_change {
  std::uint32_t value = 0;
  std::int64_t when = 0;
  std::int64_t age(std::uint32_t now_it_is, std::int64_t now) noexcept {
    if (now_it_is != value) *this = {now_it_is, now};
    return now - when;
  }
};

bool nobody_looks(std::int64_t now) noexcept {
  static last_change looks, switches;                // sysmon only
  std::uint32_t looked = 0, switched = 0;
  const std::uint32_t n = sched.maxprocs.load(acquire);   // [order] acquire: so many have been built
  for (std::uint32_t i = 0; i < n; ++i) {
    looked += sched.processors[i].polls;
    switched += sched.processors[i].switches;
  }
  const std::int64_t since_switch = switches.age(switched, now);
  return looks.age(looked, now) >= (since_switch >= patience ? patience : patience_if_it_switches);
}

}  // namespace

bool stand_by(std::int64_t now, std::int64_t until, ready_batch& out) noexcept {
  if (!poller.has_waiters() || sched.idle.look().idle_processors() != 0 || !nobody_looks(now)) return false;
  if (sched.polling.exchange(true, acq_rel)) return false;   // [order] acq_rel: one poller at a time
  sched.poll_until.store(until, relaxed);            // [order] relaxed: ordered by the barrier pair
  heavy_barrier();                                   // as in wait_in_poller()
  until = std::min(until, earliest_timer());
  poller.wait(until, out);
  sched.poll_until.store(os::forever, relaxed);
  sched.polling.store(false, release);               // [order] release: as in end_polling()
  return true;
}

}  // namespace weft::inline v0::rt
