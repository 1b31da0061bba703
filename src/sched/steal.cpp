// steal.cpp — take work from the other Ps: four passes in random order; timers and run_next in the last.
//
// A victim's run_next is left alone while the victim keeps switching: it will run it itself in a moment, and
// moving one half of a ping-pong to another core makes both halves slower. So a thief sleeps 3 us before it
// takes it (Go), and takes it only if the victim has not switched meanwhile (ours; Go steals what happens to
// lie there).
#include <algorithm>

#include "os/os.hpp"
#include "sched/sched.hpp"

namespace weft::inline v0::rt {
namespace {

constexpr int passes = 4;
constexpr std::int64_t run_next_patience = 3'000;    // ns

bool may_take_next(processor* victim) noexcept {
  if (!victim->queue.has_next()) return false;
  if (victim->status.load(relaxed) != p_status::running) return true;   // [order] relaxed: a hint
  const std::uint32_t before = victim->switches;
  os::sleep_ns(run_next_patience);
  return victim->switches == before;
}

goroutine* steal_from(processor* pp, processor* victim, bool last_pass) noexcept {
  std::uint32_t n = 0;
  const bool next_too = last_pass && victim->queue.size() == 0 && may_take_next(victim);
  goroutine* gp = victim->queue.steal_half(pp->queue, next_too, n);
  if (gp != nullptr) emit(event::steal, victim->id, n);
  return gp;
}

}  // namespace

goroutine* steal_ring(machine* mp) noexcept {
  // [order] relaxed: it cannot change while we have a P
  for (visit_order order(sched.maxprocs.load(relaxed), mp->random.next()); !order.done(); order.next()) {
    processor* victim = &sched.processors[order.position()];
    if (victim == mp->pp) continue;
    if (goroutine* gp = steal_from(mp->pp, victim, false)) return gp;
  }
  return nullptr;
}

void fetch_for_slice(machine* mp) noexcept {
  if (!mp->pp->queue.empty() || sched.global.size() != 0) return;
  if (goroutine* gp = steal_ring(mp)) {
    put_local(mp->pp, gp);
    wake_p();                                        // what we took was in no queue for a moment
  }
}

stolen steal_work(machine* mp, std::int64_t& now) noexcept {
  processor* pp = mp->pp;
  const std::uint32_t count = sched.maxprocs.load(relaxed);   // [order] relaxed: as above
  bool ran_timers = false;
  for (int pass = 0; pass < passes; ++pass) {
    const bool last_pass = pass == passes - 1;
    for (visit_order order(count, mp->random.next()); !order.done(); order.next()) {
      // [order] relaxed: a hint; the caller looks again
      if (sched.stopping.load(relaxed) || sched.ended.load(relaxed)) return {nullptr, false, true};
      processor* victim = &sched.processors[order.position()];
      if (victim == pp) continue;
      if (last_pass && victim->timers.earliest() != os::forever) {
        if (now == 0) now = os::nanotime();
        const bool due = victim->timers.earliest() <= now;
        run_timers(victim, now);
        if (due) {
          ran_timers = true;
          if (run_queue::taken t = pp->queue.get(); t.gp != nullptr) return {t.gp, t.inherits_slice, false};
        }
      }
      if (goroutine* gp = steal_from(pp, victim, last_pass)) return {gp, false, false};
    }
  }
  return {nullptr, false, ran_timers};
}

}  // namespace weft::inline v0::rt
