// shared_mutex.cpp — the contended half of shared_mutex: who goes in when somebody leaves or gives up.
//
//   a writer leaves            all waiting readers, else the first waiting writer
//   the last reader leaves     the first waiting writer
//   a waiting writer gives up  if it was the last: all waiting readers
//
// I1  while `queued` is set, state_ changes under the lock of writers_ only (every fast path refuses)
// I2  whoever is let in is counted in state_ by the one that lets it in: it has the lock when it wakes
// I3  the lock is released with: nobody waits, or somebody holds state_, or a waiter that gave up will take
//     the lock
// I4  an unlock touches the object last by the exchange that frees it, or while it holds a taken waiter back,
//     or while a waiter needs the lock
#include "weft/shared_mutex.hpp"

#include "context/sanitizer.hpp"
#include "sched/inside.hpp"
#include "wait/wait_list.hpp"

namespace weft::inline v0 {
namespace {

using namespace rt;   // the runtime's names, in this file only

}  // namespace

// What the holder of the lock decides: who goes in. Works on a copy of state_ without `queued`.
class shared_mutex::turn {
 public:
  explicit turn(shared_mutex& m) noexcept : m_(m), writers_(m.writers_), readers_(m.readers_, m.writers_) {
    writers_.lock();
    // [order] acquire pairs with the fast unlocks: what they published is passed on by publish().
    const std::uint32_t seen = m_.state_.load(acquire);
    state_ = seen & ~queued;
    owned_ = seen & queued;
  }
  // True: somebody waits, and so every change is ours (I1). False: the state below is only a hint, nothing to
  // decide.
  bool is_ours() const noexcept { return owned_; }
  // Makes it ours although nobody waits yet. [order] acquire: as above.
  void take() noexcept {
    state_ = m_.state_.fetch_or(queued, acquire) & ~queued;
    owned_ = true;
  }

  bool has_writer() const noexcept { return state_ & writer; }
  bool has_readers() const noexcept { return state_ >= reader; }
  bool may_enter(kind k) const noexcept {
    return k == exclusive ? state_ == 0 && writers_.empty() : !has_writer() && writers_.empty();
  }
  void enter(kind k) noexcept { state_ += k == exclusive ? writer : reader; }
  void leave(kind k) noexcept { state_ -= k == exclusive ? writer : reader; }

  void let_in(bool readers_first) noexcept {
    if (has_writer()) return;
    if (readers_first) let_readers_in();
    if (state_ == 0)
      if (wakeup k = writers_.take_one(); k.won) {
        state_ = writer;
        k.deliver_to(in_);
      }
    if (!has_writer() && writers_.empty()) let_readers_in();
  }
  bool may_end() const noexcept { return !in_.empty() || somebody_waits(); }   // I4

  // Each of these two releases the lock and is the last call.
  void end() noexcept {
    if (owned_) publish(somebody_waits());
    writers_.unlock();
    ready_all(in_);
  }
  detail::wait_status wait(kind k, wait_scope* scope) noexcept {
    publish(true);
    return k == exclusive ? writers_.wait(wait_reason::shared_mutex_lock, scope)
                          : readers_.wait(wait_reason::shared_mutex_lock_shared, scope);
  }

 private:
  bool somebody_waits() const noexcept { return !writers_.empty() || !readers_.empty(); }
  void let_readers_in() noexcept { state_ += static_cast<std::uint32_t>(readers_.take_all(in_)) * reader; }
  // [order] release pairs with the acquire of the fast locks.
  void publish(bool waiters) noexcept { m_.state_.store(state_ | (waiters ? queued : 0), release); }

  shared_mutex& m_;
  waiting writers_, readers_;
  std::uint32_t state_;
  bool owned_;
  ready_batch in_;
};

bool shared_mutex::wait_for(kind k, const detail::wait_limits& limits) {
  maybe_wait_scope scope(limits);
  inside_parking in;
  {
    turn t(*this);
    t.take();
    const bool enters = t.may_enter(k);
    if (enters) t.enter(k);
    if (enters || scope.has_ended()) {
      t.end();
      if (enters) sanitizer::hb_acquire_word(state_);
      return enters;
    }
    if (t.wait(k, scope.get()) == detail::wait_status::done) {   // I2
      sanitizer::hb_acquire_word(state_);
      return true;
    }
  }
  turn t(*this);   // we gave up: others may have waited for us only
  if (t.is_ours()) t.let_in(false);
  t.end();
  return false;
}

void shared_mutex::unlock_slow() noexcept {
  inside in;
  sanitizer::hb_release(&state_);
  for (;;) {
    {
      turn t(*this);
      if (!t.has_writer()) fatal("sync: Unlock of unlocked RWMutex");
      if (t.is_ours()) {
        t.leave(exclusive);
        t.let_in(true);
        if (t.may_end()) return t.end();
        t.enter(exclusive);   // all gave up: back to the fast path, which may be the last touch
      }
      t.end();
    }
    std::uint32_t seen = writer;
    // [order] release: as in unlock().
    if (state_.compare_exchange_strong(seen, 0, release, relaxed)) return;
  }
}

void shared_mutex::unlock_shared_slow() noexcept {
  inside in;
  sanitizer::hb_release(&state_);
  for (;;) {
    {
      turn t(*this);
      if (!t.has_readers()) fatal("sync: RUnlock of unlocked RWMutex");
      if (t.is_ours()) {
        t.leave(shared);
        t.let_in(false);
        if (t.may_end()) return t.end();
        t.enter(shared);   // as above
      }
      t.end();
    }
    std::uint32_t seen = state_.load(relaxed);   // [order] relaxed: the exchange decides
    while (!(seen & queued) && seen >= reader)
      // [order] release: as in unlock_shared().
      if (state_.compare_exchange_weak(seen, seen - reader, release, relaxed)) return;
  }
}

}  // namespace weft::inline v0
