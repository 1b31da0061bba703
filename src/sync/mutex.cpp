// mutex.cpp — the contended half of mutex. Go's algorithm (sync/mutex.go), the queue under the list's lock.
//
//   lock     free: take it. Held: spin a little, then queue and park; woken: compete again, the loser
//            queues at the front
//   unlock   nobody queued, or somebody is awake already: free it
//            normal:    take one waiter, free the mutex with `woken` set, wake it: it competes with newcomers
//            starving:  take one waiter and leave it the mutex, still locked
//
// I1  `waiters` and `starving` are set under the list's lock while the mutex is locked, so an unlock() sees
//     them; they may be stale (a waiter gave up), then the next unlock() clears them
// I2  `woken` set  =>  somebody awake will take the mutex, or clear it while the mutex is locked: no wake-up
//     is lost
// I3  starving  =>  locked: the mutex goes from hand to hand
// I4  unlock_slow() touches the mutex last by the exchange that frees it, or while it holds a taken waiter
//     back
//
// Unlike Go's, unlock() does not yield to the one it handed the mutex to: it is everyday code in functions
// that must keep their thread. The new owner is next on this P.
#include "weft/mutex.hpp"

#include "context/sanitizer.hpp"
#include "sync/spin.hpp"
#include "wait/wait_list.hpp"

namespace weft::inline v0 {
namespace {

using namespace rt;   // the runtime's names, in this file only

constexpr std::int64_t starvation_ns = 1'000'000;

}  // namespace

// One goroutine's way to the mutex: what it remembers from one attempt to the next.
class mutex::contender {
 public:
  enum class outcome { locked, again, timed_out, stopped };

  explicit contender(mutex& m) noexcept : m_(m) {}

  // Inside. Until it has the mutex, or was woken and must try again, or has given up.
  outcome attempt(wait_scope* scope) noexcept {
    std::uint32_t seen = m_.state_.load(relaxed);   // [order] relaxed: exchanges decide
    for (;;) {
      if (!(seen & mutex::locked)) {
        if (take(seen)) return outcome::locked;
      } else if (!(seen & starving) && spinner_.once()) {
        // Keep unlock() from waking another one while we are awake. [order] relaxed: a hint.
        if (!awake_ && !(seen & woken) && (seen & waiters))
          awake_ = m_.state_.compare_exchange_strong(seen, seen | woken, relaxed, relaxed);
        seen = m_.state_.load(relaxed);
      } else {
        break;
      }
    }
    if (scope && scope->is_stopped()) return give_up(outcome::stopped);
    if (scope && scope->is_expired()) return give_up(outcome::timed_out);
    return queue(scope);
  }

 private:
  std::uint32_t without_my_wake(std::uint32_t bits) const noexcept { return awake_ ? bits & ~woken : bits; }

  bool take(std::uint32_t& seen) noexcept {
    // [order] acquire pairs with unlock()'s release.
    return m_.state_.compare_exchange_weak(seen, without_my_wake(seen | mutex::locked), acquire, relaxed);
  }

  outcome queue(wait_scope* scope) noexcept {
    waiting list(m_.list_);
    list.lock();
    std::uint32_t seen = m_.state_.load(relaxed);   // [order] relaxed: exchanges decide
    for (;;) {
      if (!(seen & mutex::locked)) {
        if (!take(seen)) continue;
        list.unlock();
        return outcome::locked;
      }
      const std::uint32_t queued = without_my_wake(seen) | waiters | (starving_ ? starving : 0);   // I1
      // [order] relaxed: under the lock.
      if (m_.state_.compare_exchange_weak(seen, queued, relaxed, relaxed)) break;
    }
    awake_ = false;
    bool handed_over = false;
    detail::wait_status status;
    if (waiting_since_ == 0) {
      waiting_since_ = os::nanotime();
      status = list.wait(wait_reason::mutex_lock, scope, &handed_over);
    } else {
      status = list.wait_first(wait_reason::mutex_lock, scope, &handed_over);
    }
    if (status == detail::wait_status::timed_out) return give_up(outcome::timed_out);
    if (status == detail::wait_status::stopped) return give_up(outcome::stopped);

    const bool waited_long = os::nanotime() - waiting_since_ > starvation_ns;
    if (handed_over) {
      // [order] relaxed: the mutex is ours.
      if (!waited_long && !starving_) m_.state_.fetch_and(~starving, relaxed);
      return outcome::locked;
    }
    starving_ |= waited_long;
    awake_ = true;
    spinner_.reset();
    return outcome::again;
  }

  // Leaving empty-handed must not leave `woken` behind on a free mutex (I2): then rather take it.
  outcome give_up(outcome why) noexcept {
    std::uint32_t seen = m_.state_.load(relaxed);   // [order] relaxed: exchanges decide
    for (;;) {
      if (!(seen & mutex::locked)) {
        if (take(seen)) return outcome::locked;
      } else if (!awake_ || m_.state_.compare_exchange_weak(seen, seen & ~woken, relaxed, relaxed)) {
        return why;
      }
    }
  }

  mutex& m_;
  spinner spinner_;
  bool awake_ = false;      // `woken` is set on our behalf
  bool starving_ = false;   // we have waited long enough to be handed the mutex
  std::int64_t waiting_since_ = 0;
};

void mutex::lock_slow() {
  inside_parking in;
  contender me(*this);
  while (me.attempt(nullptr) == contender::outcome::again) {}
  sanitizer::hb_acquire_word(state_);
}

bool mutex::lock_slow(const detail::wait_limits& limits) {
  contender me(*this);
  for (;;) {
    wait_scope scope(limits);
    inside_parking in;
    switch (me.attempt(&scope)) {
      case contender::outcome::locked: sanitizer::hb_acquire_word(state_); return true;
      case contender::outcome::again: break;
      default: return false;
    }
  }
}

void mutex::unlock_slow() noexcept {
  inside in;
  waiting list(list_);
  sanitizer::hb_release(&state_);
  std::uint32_t seen = state_.load(relaxed);   // [order] relaxed: exchanges decide
  for (;;) {
    if (!(seen & locked)) fatal("sync: unlock of unlocked mutex");
    if (is_free_to_leave(seen)) {
      // [order] release pairs with contender::take() and take_free().
      if (state_.compare_exchange_weak(seen, seen & ~locked, release, relaxed)) return;
      continue;
    }

    list.lock();
    void* handed_over = nullptr;
    wakeup next = list.take_one(&handed_over);
    const std::uint32_t gone = list.empty() ? waiters | starving : 0;
    if (!next.won) {   // all gave up. [order] relaxed: nothing is published, the mutex stays ours
      seen = state_.fetch_and(~gone, relaxed) & ~gone;
      list.unlock();
      continue;
    }
    seen = state_.load(relaxed);   // [order] relaxed: `starving` changes under the lock or by the owner only
    if (seen & starving) {
      *static_cast<bool*>(handed_over) = true;
      if (gone) state_.fetch_and(~gone, relaxed);   // [order] relaxed: as above
    } else {
      // [order] release: as above.
      while (!state_.compare_exchange_weak(seen, ((seen & ~locked) | woken) & ~gone, release, relaxed)) {}
    }
    list.unlock();
    next.deliver();   // only now may it run, and perhaps destroy the mutex
    return;
  }
}

}  // namespace weft::inline v0
