// semaphore.cpp — the line of a semaphore: served from its head while the tokens last. Go's x/sync/semaphore.
//
// I1  while `queued` is set, word_ changes under the list's lock only (every fast path refuses)
// I2  the lock is released with: nobody waits, or the first in line wants more than there is, or it gave up
//     and will take the lock
// I3  release() touches the semaphore last by the exchange that publishes the tokens, or while it holds a
//     served waiter back, or while a waiter needs the lock
#include "weft/semaphore.hpp"

#include <stdexcept>

#include "context/sanitizer.hpp"
#include "sched/inside.hpp"
#include "wait/wait_list.hpp"

namespace weft::inline v0::detail {
namespace {

using namespace rt;   // the runtime's names, in this file only

// More than there can ever be: waits for the limits in a list of its own, in nobody's way.
void wait_in_vain(maybe_wait_scope& scope) noexcept {
  wait_list nobody;
  waiting list(nobody);
  list.lock();
  if (scope.has_ended())
    list.unlock();
  else
    static_cast<void>(list.wait(wait_reason::semaphore_acquire, scope.get()));
}

}  // namespace

// What the holder of the lock does, on a copy of the number of tokens.
class semaphore_core::turn {
 public:
  explicit turn(semaphore_core& core) noexcept : core_(core), list_(core.list_) {
    list_.lock();
    // [order] acquire pairs with the fast release(): what it published is passed on by publish().
    const std::int64_t seen = core_.word_.load(acquire);
    tokens_ = seen / token;
    owned_ = seen & queued;
  }
  bool is_ours() const noexcept { return owned_; }
  void take() noexcept {   // makes it ours although nobody waits yet. [order] acquire: as above
    tokens_ = (core_.word_.fetch_or(queued, acquire)) / token;
    owned_ = true;
  }

  std::int64_t tokens() const noexcept { return tokens_; }
  void add(std::int64_t n) noexcept { tokens_ += n; }
  bool may_have(std::int64_t n) const noexcept { return list_.empty() && n <= tokens_; }

  void serve() noexcept {
    while (waiter* w = list_.front()) {
      const std::int64_t wanted = *static_cast<std::int64_t*>(w->slot);
      if (wanted > tokens_) return;
      wakeup k = list_.take_front();
      if (!k.won) continue;   // it has given up
      tokens_ -= wanted;
      k.deliver_to(out_);
    }
  }
  bool may_end() const noexcept { return !out_.empty() || !list_.empty(); }   // I3

  // Each of these two releases the lock and is the last call.
  void end() noexcept {
    if (owned_) publish(!list_.empty());
    list_.unlock();
    ready_all(out_);
  }
  wait_status wait(std::int64_t& wanted, wait_scope* scope) noexcept {
    publish(true);
    return list_.wait(wait_reason::semaphore_acquire, scope, &wanted);
  }

 private:
  // [order] release pairs with the acquire of try_acquire().
  void publish(bool waiters) noexcept {
    core_.word_.store(tokens_ * token + (waiters ? queued : 0), rt::release);
  }

  semaphore_core& core_;
  waiting list_;
  std::int64_t tokens_;
  bool owned_;
  ready_batch out_;
};

bool semaphore_core::acquire_slow(std::int64_t n, std::int64_t max, const wait_limits& limits) {
  maybe_wait_scope scope(limits);
  inside_parking in;
  if (n > max) {
    wait_in_vain(scope);
    return false;
  }
  {
    turn t(*this);
    t.take();
    const bool served = t.may_have(n);
    if (served) t.add(-n);
    if (served || scope.has_ended()) {
      t.end();
      if (served) sanitizer::hb_acquire_word(word_);
      return served;
    }
    if (t.wait(n, scope.get()) == wait_status::done) {
      sanitizer::hb_acquire_word(word_);
      return true;
    }
  }
  turn t(*this);   // we gave up: those behind us may want less
  if (t.is_ours()) t.serve();
  t.end();
  return false;
}

void semaphore_core::release_slow(std::int64_t n, std::int64_t max) {
  bool too_many;
  {
    inside in;
    sanitizer::hb_release(&word_);
    turn t(*this);
    too_many = n < 0 || n > max - t.tokens();
    if (!too_many && t.is_ours()) {
      t.add(n);
      t.serve();
      if (t.may_end()) return t.end();
      t.add(-n);   // all gave up: back to the fast path, which may be the last touch
    }
    t.end();
  }
  if (too_many) throw std::logic_error("semaphore: released more than held");
  release(n, max);
}

}  // namespace weft::inline v0::detail
