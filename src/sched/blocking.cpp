// blocking.cpp — announced blocking calls (weft/blocking.hpp).
//
//   enter   the call gets a number in this stay outside (announcement.hpp): sysmon believes it (retake.cpp).
//           Nothing else, so a short call pays some loads and two stores. At a place whose calls have been
//           long, with others waiting: the P goes to another M now
//   exit    the lease is not ours any more? Then the call was long: get a P, remember it at the place
//
// A place stops being long when enough of its calls in a row turn out to be short.
#include "weft/blocking.hpp"

#include "os/os.hpp"
#include "sched/preempt.hpp"

namespace weft::inline v0::rt {
namespace {

constexpr std::uint8_t most_long = 8;                // so many short calls in a row until it is short again
constexpr std::int64_t short_call = 20'000;          // ns: less than the hand-over costs both sides

// Somebody needs the P? It stays behind as if it had been claimed: the next crossing notices.
void hand_on(machine* mp) noexcept {
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
}

}  // namespace
}  // namespace weft::inline v0::rt

namespace weft::inline v0::detail {

using namespace weft::rt;

// A plain thread has no P: what is noted for it nobody reads.
blocking_scope::blocking_scope(call_site& site) noexcept : site_(site) {
  machine* mp = this_machine();
  if (mp == nullptr) return;
  if (site.long_calls.load(relaxed) != 0) [[unlikely]] begin_long(mp);   // [order] relaxed: a heuristic
  mp->announced.begin(mp->gate.look());
}

void blocking_scope::begin_long(machine* mp) noexcept {
  hand_on(mp);
  began_at_ = os::nanotime();
}

blocking_scope::~blocking_scope() {
  machine* mp = this_machine();
  if (mp == nullptr) return;
  mp->announced.end();
  if (began_at_ != 0 || !mp->lease.is_mine()) [[unlikely]] note_end(mp);
}

// It was long, or its place had been.
void blocking_scope::note_end(machine* mp) noexcept {
  if (!mp->lease.is_mine()) inside in;               // gets a P
  // [order] relaxed: a heuristic
  const std::uint8_t n = site_.long_calls.load(relaxed);
  const bool is_long = began_at_ == 0 || os::nanotime() - began_at_ > short_call;
  if (is_long)
    site_.long_calls.store(most_long, relaxed);
  else if (n > 0)
    site_.long_calls.store(static_cast<std::uint8_t>(n - 1), relaxed);
}

}  // namespace weft::inline v0::detail
