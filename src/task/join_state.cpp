// join_state.cpp — the state word of a spawned goroutine: who waits for it, who owns its allocation.
//
//   word        sentence                                                   owner of the allocation
//   running     it runs, nobody waits                                      the handle
//   gp          it runs, gp is parked in a join without a limit            the handle
//   gp | timed  it runs, gp is parked in a join with a deadline            the handle
//   delivering  it has ended and is claiming the timed joiner              both
//   done        it has ended and touches the state no more                 the handle
//   detached    the handle is gone                                         the goroutine
//
//   running ──commit of join──> gp ──finish()──> done
//                       gp | timed ──finish()──> delivering ──> done
//                       gp | timed ──deadline──> running
//   running ──finish()──> done
//   running ──let_go()──> detached ──finish()──> freed
//
// I1  every transition is a compare-and-swap from the state that was looked at: one of two rivals moves
// I2  finish() does not touch the state after it stored `done`: the handle may free it at once
// I3  the joiner is named by its goroutine, not by a waiter on its stack: a G may always be read, a stack may
//     not. A timed joiner that loses to finish() waits out `delivering`, so that the late claim cannot hit
//     its next wait
//
// Rejected: a count of references (two more read-modify-writes a spawn, and the word knows it all).
#include "weft/join_handle.hpp"

#include "base/check.hpp"
#include "context/sanitizer.hpp"
#include "os/os.hpp"
#include "sched/fork.hpp"
#include "sched/inside.hpp"
#include "task/goroutine_local.hpp"
#include "wait/timed_wait.hpp"

namespace weft::inline v0 {

goroutine_exited::goroutine_exited()
    : std::logic_error("weft: join of a goroutine that has exited without a result") {}

}  // namespace weft::inline v0

namespace weft::inline v0::detail {
namespace {

enum word : std::uintptr_t { running = 0, timed = 1, done = 2, delivering = 4, detached = 6, flags = 7 };
static_assert(alignof(rt::goroutine) > flags);

rt::goroutine* joiner_of(std::uintptr_t w) noexcept {
  return reinterpret_cast<rt::goroutine*>(w & ~std::uintptr_t{flags});
}
std::uintptr_t word_of(rt::goroutine* gp, std::uintptr_t flag) noexcept {
  return reinterpret_cast<std::uintptr_t>(gp) | flag;
}

struct parking {   // what the commit needs; on the joiner's stack
  rt::atomic<std::uintptr_t>* word;
  rt::goroutine* gp;
};

// [order] release: finish() that takes gp out of the word sees its saved context; acquire: a `done` that was
// met brings what the goroutine wrote.
bool publish(const parking& p, std::uintptr_t flag) noexcept {
  std::uintptr_t expected = running;
  return p.word->compare_exchange_strong(expected, word_of(p.gp, flag), rt::acq_rel, rt::acquire);
}

void publish_joiner(void* arg) noexcept {
  const parking p = *static_cast<parking*>(arg);
  if (!publish(p, 0)) rt::ready(p.gp);   // it ended meanwhile
}

void publish_timed_joiner(void* arg) noexcept {
  const parking p = *static_cast<parking*>(arg);
  if (!publish(p, timed)) p.gp->wait.claim(0);
  rt::commit_parked(p.gp);
}

bool is_abandoned(rt::goroutine* gp) noexcept {
  // [order] relaxed: a finished world stays finished.
  return gp->status.load(rt::relaxed) == rt::g_status::abandoned;
}

void claim_timed(rt::goroutine* gp, rt::atomic<std::uintptr_t>& word) noexcept {
  const auto claimed = gp->wait.claim(0);
  word.store(done, rt::release);   // [order] release: the result, for a joiner that does not wait for ready()
  if (claimed == rt::wait_word::claimed::parked && !is_abandoned(gp)) rt::ready(gp);
}

}  // namespace

bool join_state::is_detached() const noexcept {
  return word_.load(rt::relaxed) == detached;   // [order] relaxed: a hint
}

void join_state::finish() noexcept {
  // Before anybody learns that it has ended, as a thread's thread_locals go.
  if (gp_->locals) [[unlikely]] rt::end_goroutine_locals(gp_);
  rt::sanitizer::hb_release(this);
  {
    rt::inside in;
    std::uintptr_t seen = word_.load(rt::relaxed);   // [order] relaxed: the exchange below decides
    while (seen != detached) {
      const std::uintptr_t next = (seen & timed) ? delivering : done;
      // [order] release: the result, for the joiner; acquire: the joiner's saved context.
      if (!word_.compare_exchange_weak(seen, next, rt::acq_rel, rt::relaxed)) continue;
      rt::goroutine* gp = joiner_of(seen);
      if (seen & timed)
        claim_timed(gp, word_);
      else if (gp && !is_abandoned(gp))
        rt::ready(gp);
      return;
    }
  }
  rt::sanitizer::hb_acquire(this);
  destroy();
}

join_state::waited join_state::wait(std::int64_t deadline) {
  const auto has_ended = [this] {
    if (word_.load(rt::acquire) != done) return false;   // [order] acquire: the result
    rt::sanitizer::hb_acquire(this);
    return true;
  };
  if (has_ended()) return waited::done;
  if (rt::in_forked_child()) return waited::lost;    // for the destructor of a handle
  // If the word is still not done after the status was read, it was this goroutine's, not a later one's.
  // [order] acquire: the two loads stay in order.
  if (gp_->status.load(rt::acquire) == rt::g_status::abandoned)
    return has_ended() ? waited::done : waited::lost;

  if (deadline == never) {
    rt::inside_parking in;
    parking p{&word_, rt::current()};
    rt::park(rt::wait_reason::join, publish_joiner, &p);
  } else {
    const wait_limits limits{deadline};
    rt::wait_scope scope(limits);
    if (scope.is_expired()) return waited::timed_out;
    rt::inside_parking in;
    parking p{&word_, scope.owner()};
    if (scope.park(rt::wait_reason::join, publish_timed_joiner, &p) == rt::woken_by::timeout) {
      std::uintptr_t mine = word_of(p.gp, timed);
      // [order] relaxed: nothing is read or published by not waiting any more.
      if (word_.compare_exchange_strong(mine, running, rt::relaxed)) return waited::timed_out;
    }
    // I3: a few instructions of another thread. [order] relaxed: has_ended() below reads the result.
    while (word_.load(rt::relaxed) == delivering) rt::os::yield_thread();
  }
  WEFT_CHECK(has_ended());
  return waited::done;
}

bool join_state::let_go() noexcept {
  std::uintptr_t expected = running;
  rt::sanitizer::hb_release(this);
  // [order] release: the handle's writes, before the goroutine frees the state; acquire: the result.
  if (word_.compare_exchange_strong(expected, detached, rt::acq_rel, rt::acquire)) return true;
  rt::sanitizer::hb_acquire(this);
  return false;
}

// Out of a noexcept function: ends as every exception that leaves a goroutine.
void die_of_unasked(std::exception_ptr error) noexcept { std::rethrow_exception(std::move(error)); }

void throw_exited() { throw goroutine_exited(); }

void throw_not_joinable() {
  throw std::system_error(std::make_error_code(std::errc::invalid_argument), "weft: handle is not joinable");
}

}  // namespace weft::inline v0::detail
