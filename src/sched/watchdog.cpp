// watchdog.cpp — for production: nothing has been scheduled for a second, and goroutines wait to run.
//
//   moves ──1 s──> told ──1 s more──> threads let go ──something is scheduled──> moves
//
// That is an error of ours, or threads cannot be had. sysmon only sees it; the helper writes one line and the
// scheduler's state, and no more than one in `pause`. The last resort is for a lock that a thread stopped by
// the signal holds and that everybody else waits for, somewhere where it must not be: it goes on without a P.
//
// A round counts for at most `longest_round`: when the whole process is stopped, or gets no CPU, sysmon's own
// rounds do not come either. `WEFTDEBUG=watchdog=0` switches it off.
#include <algorithm>

#include "base/print.hpp"
#include "os/os.hpp"
#include "sched/let_go.hpp"

namespace weft::inline v0::rt {
namespace {

constexpr std::int64_t ms = 1'000'000, s = 1'000 * ms;
constexpr std::int64_t patience = 1 * s, last_resort = 2 * s, longest_round = 20 * ms, pause = 60 * s;

atomic<bool> let_go_now{false};

struct {
  std::uint64_t scheduled = 0;
  std::int64_t last_round = 0;
  std::int64_t stood = 0;                            // for so long, in rounds that came in time
  bool told = false;
  std::int64_t told_at = -pause;
} seen;                                              // sysmon only

std::uint64_t count_scheduled() noexcept {
  std::uint64_t n = 0;
  const std::uint32_t count = sched.maxprocs.load(acquire);   // [order] acquire: so many have been built
  for (std::uint32_t i = 0; i < count; ++i)
    n += sched.processors[i].schedtick + sched.processors[i].switches;
  return n;
}

// A stop of the world, and whoever asked for one, come to their end by themselves.
// But the helper is at something every 100 ms: such a round does not count, and no more.
bool may_stand() noexcept {
  return sched.stopping.load(relaxed) || helper_may_stop_world();   // [order] relaxed: a hint
}

}  // namespace

bool stands_still() noexcept { return let_go_now.load(relaxed); }   // [order] relaxed: sysmon's own word

bool watch(std::int64_t now) noexcept {
  if (!current_settings().watchdog) return false;
  const std::int64_t round = std::min(now - seen.last_round, longest_round);
  seen.last_round = now;
  const std::uint64_t scheduled = count_scheduled();
  if (scheduled != seen.scheduled || !somebody_has_work()) {
    seen.scheduled = scheduled;
    seen.stood = 0;
    seen.told = false;
    let_go_now.store(false, relaxed);                // [order] relaxed: as above
    return false;
  }
  if (may_stand()) return false;
  seen.stood += round;
  if (seen.stood >= patience && !seen.told) {
    seen.told = true;
    if (now - seen.told_at >= pause) {
      seen.told_at = now;
      wake_helper(helper_standstill);
    }
  }
  if (seen.stood < last_resort) return false;
  let_go_now.store(true, relaxed);                   // [order] relaxed: as above
  return let_go_stopped();
}

void tell_of_standstill() noexcept {
  printer() << "weft: nothing has been scheduled for a second although goroutines wait to run"
            << " (WEFTDEBUG=watchdog=0 silences this)\n";
  if (ports.print_schedtrace != nullptr) ports.print_schedtrace(true);
}

}  // namespace weft::inline v0::rt
