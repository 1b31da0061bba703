// trim.cpp — goroutines that have been parked for long keep one page of stack: what lies below it goes back.
//
// On the helper thread, 256 of them each 100 ms: about 0.2 % of a CPU. Each is looked at once a park.
//
//   collect    the goroutines that have waited for 5 s, by their status and the stamp of their park
//   grace      for_each_p with nothing to do: whoever was in the middle of a park has left that stack
//   own        the ones whose stamp is still the same, so that nobody resumes them meanwhile
//   trim       mincore below the stack pointer, madvise if there is something
//
//   the helper                                 who wakes it (stays_with_trimmer)
//   T1  trim = owned                           R1  status = runnable
//       heavy barrier (one for a batch)            light barrier
//   T2  still waiting, in the same park?       R2  trim == free: queue it, as usual
//       yes: trim                                  owned: owned -> owed by CAS, and the helper queues it
//   T3  owned -> free by CAS; owed: queue it
//
// If the barrier comes after R1, T2 sees that it does not wait any more. If before, R2 comes after it and
// sees T1. The stamp (waiting_since) counts the parks in its low bits, so T2 cannot take a later park, which
// the grace does not cover, for the one that was collected.
#include <algorithm>

#include "os/os.hpp"
#include "sched/threads.hpp"

namespace weft::inline v0::rt {
namespace {

constexpr std::uint32_t looked_at_max = 2048, collected_max = 256;   // each step
constexpr std::uint32_t owned_max = 32;
constexpr std::int64_t step_period = 100'000'000, most_steps = 50;

struct candidate {
  goroutine* gp;
  std::int64_t stamp;
};

// Touched by the helper thread alone.
constinit struct {
  block_walk walk{};
  bool young = false;                                // in this walk: one that has not waited long enough yet
  std::int64_t last_step = 0;
  trim_result last_result = trim_result::done;
  candidate found[collected_max] = {};
} trimmer;

bool waits_in(const candidate& c) noexcept {
  // [order] acquire: pairs with the queue that its waker put it into; the stamp was written before the status
  return c.gp->status.load(acquire) == g_status::waiting && c.gp->waiting_since.load(relaxed) == c.stamp;
}

void consider(goroutine* gp, std::int64_t before, std::uint32_t& n) noexcept {
  // [order] acquire: then the stamp is that of this park, or of a later one
  if (gp->status.load(acquire) != g_status::waiting) return;
  const std::int64_t stamp = gp->waiting_since.load(relaxed);   // [order] as just said
  if (stamp == gp->trimmed_in) return;
  if (stamp >= before)
    trimmer.young = true;
  else
    trimmer.found[n++] = {gp, stamp};
}

void trim(goroutine* gp) noexcept {                  // ours
  if (!gp->is_thread && gp->on_stack && gp->is_started()) stack_trim(gp->on_stack, gp->saved.sp);
}

void let_go(goroutine* gp) noexcept {
  trim_state expected = trim_state::owned;
  // T3. [order] acq_rel: pairs with stays_with_trimmer()
  if (!gp->trim.compare_exchange_strong(expected, trim_state::free, acq_rel, acquire)) {
    gp->trim.store(trim_state::free, relaxed);       // [order] relaxed: the queue publishes it
    submit_global(gp);
  }
}

void trim_batch(const candidate* c, std::uint32_t n) noexcept {
  // T1. [order] relaxed: ordered by the barrier pair
  for (std::uint32_t i = 0; i < n; ++i) c[i].gp->trim.store(trim_state::owned, relaxed);
  heavy_barrier();
  for (std::uint32_t i = 0; i < n; ++i) {
    if (waits_in(c[i])) {                            // T2
      trim(c[i].gp);
      c[i].gp->trimmed_in = c[i].stamp;
    }
    let_go(c[i].gp);
  }
}

}  // namespace

// Those whose last park began before that instant.
trim_result trim_step(std::int64_t before) noexcept {
  std::uint32_t n = 0;
  goroutine* gp = nullptr;
  for (std::uint32_t i = 0; i < looked_at_max && n < collected_max; ++i) {
    if ((gp = next_block(trimmer.walk)) == nullptr) break;
    consider(gp, before, n);
  }
  if (n != 0) for_each_p([](processor*) {});         // the grace; cut short when the world ends
  for (std::uint32_t i = 0; i < n && !sched.ended.load(acquire); i += owned_max)   // [order] end_main()
    trim_batch(trimmer.found + i, std::min(owned_max, n - i));
  if (gp != nullptr) return trim_result::more;
  const bool young = trimmer.young;
  trimmer.young = false;
  return young ? trim_result::later : trim_result::done;
}

// Hardly ever needed.
bool stays_with_trimmer_slow(goroutine* gp) noexcept {
  trim_state expected = trim_state::owned;
  // R2. [order] acq_rel: what its waker did goes to the helper, which queues it
  return gp->trim.compare_exchange_strong(expected, trim_state::owed, acq_rel, acquire);
}

// One step for every 100 ms since the last time: in an idle process it is called once in 5 s.
trim_result trim_parked(std::int64_t now, std::int64_t waited_ns) noexcept {
  if (trimmer.last_step == 0) trimmer.last_step = now - step_period;   // the first time
  std::int64_t steps = std::min((now - trimmer.last_step) / step_period, most_steps);
  if (steps > 0) trimmer.last_step = now;
  for (; steps > 0; --steps)
    if ((trimmer.last_result = trim_step(now - waited_ns)) != trim_result::more) break;
  return trimmer.last_result;
}

}  // namespace weft::inline v0::rt
