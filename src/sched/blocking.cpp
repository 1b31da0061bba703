// blocking.cpp — announced blocking calls (weft/blocking.hpp).
//
//   enter   the gate's value of this stay outside is noted as announced: sysmon believes it (retake.cpp).
//           Nothing else, so a short call pays two loads and a store. At a place whose calls have been long,
//           with others waiting: the P goes to another M now.
//   exit    the lease is not ours any more? Then the call was long: get a P, remember it at the place
//
// The announcement ends by itself when f enters the runtime: the gate moves on.
// A place stops being long when enough of its calls, with the P handed on, turn out to be short.
#include "weft/blocking.hpp"

#include "os/os.hpp"
#include "sched/preempt.hpp"

namespace weft::inline v0::rt {
namespace {

constexpr std::uint8_t most_long = 8;                // so many short calls in a row until it is short again
constexpr std::int64_t short_call = 20'000;          // ns: less than the hand-over costs both sides

bool runs_goroutines(const machine* mp) noexcept { return mp != nullptr && !mp->is_foreign; }

// The P stays behind as if it had been claimed: the next crossing notices.
bool hand_on(machine* mp) noexcept {
  enter();
  processor* pp = mp->pp;
  const bool wanted = pp != nullptr && (!pp->queue.empty() || sched.global.size() != 0) && thread_for(pp);
  if (wanted) {
    pp->mp.store(nullptr, relaxed);                  // [order] relaxed: the P is ours until hand_off_p()
    mp->lease.surrender();
    hand_off_p(pp);
    report_stray(mp);                                // whatever it does there: it has no P
  }
  mp->gate.leave();
  return wanted;
}

}  // namespace
}  // namespace weft::inline v0::rt

namespace weft::inline v0::detail {

using namespace weft::rt;

blocking_scope::blocking_scope(call_site& site) noexcept : site_(site) {
  machine* mp = this_machine();
  if (!runs_goroutines(mp)) return;
  // [order] relaxed: a heuristic
  if (site.long_calls.load(relaxed) != 0 && hand_on(mp)) handed_on_at_ = os::nanotime();
  mp->announced.store(mp->gate.look(), relaxed);     // [order] relaxed: a hint for sysmon
}

blocking_scope::~blocking_scope() {
  machine* mp = this_machine();
  if (!runs_goroutines(mp)) return;
  mp->announced.store(machine::nothing_announced, relaxed);   // [order] relaxed: our own word
  if (!mp->lease.is_mine()) {
    inside in;                                       // gets a P
  } else if (handed_on_at_ == 0) {
    return;
  }
  // [order] relaxed: a heuristic
  const std::uint8_t n = site_.long_calls.load(relaxed);
  const bool is_long = handed_on_at_ == 0 || os::nanotime() - handed_on_at_ > short_call;
  if (is_long)
    site_.long_calls.store(most_long, relaxed);
  else if (n > 0)
    site_.long_calls.store(static_cast<std::uint8_t>(n - 1), relaxed);
}

}  // namespace weft::inline v0::detail
