// wait_group.hpp — wait until a number of things are done.
#pragma once
#include <chrono>
#include <concepts>
#include <cstdint>
#include <functional>
#include <stop_token>
#include <type_traits>
#include <utility>

#include "weft/detail/deadline.hpp"
#include "weft/detail/wait_list.hpp"
#include "weft/go.hpp"
#include "weft/this_goroutine.hpp"

namespace weft::inline v0 {
namespace detail {

class wait_group_core {
 public:
  // ---- the handles that share it ----
  void retain() noexcept { handles_.fetch_add(1, rt::relaxed); }   // [order] relaxed: made from a live handle
  // [order] acq_rel: the last handle's owner destroys what the others have used.
  bool drop() noexcept { return handles_.fetch_sub(1, rt::acq_rel) == 1; }
  ~wait_group_core() { list_.check_destroyed("wait_group"); }

  void add(std::int32_t delta) {
    std::int64_t seen = word_.load(rt::relaxed);   // [order] relaxed: the exchange decides
    for (;;) {
      const std::int64_t next = seen + delta * one;
      if (next < 0) [[unlikely]] throw_negative();
      if (next < one && (seen & waiters)) {
        if (finish(delta)) return;
        seen = word_.load(rt::relaxed);
      } else if (word_.compare_exchange_weak(seen, next, rt::release, rt::relaxed)) {
        return;   // [order] release pairs with is_zero(): all done()s are one release sequence
      }
    }
  }
  // [order] acquire pairs with add().
  bool is_zero() const noexcept { return word_.load(rt::acquire) < one; }
  bool wait_slow(const wait_limits& limits);

 private:
  // word_: counter * 2 + waiters: the list may have some. src/sync/wait_group.cpp.
  static constexpr std::int64_t waiters = 1, one = 2;
  bool finish(std::int32_t delta) noexcept;   // the step to zero with waiters; false: try again
  [[noreturn]] static void throw_negative();

  rt::atomic<std::int64_t> word_{0};
  wait_list list_;
  rt::atomic<std::uint32_t> handles_{1};
};

}  // namespace detail

// Go's sync.WaitGroup. A cheap handle: copies share one counter, so it is captured by value or by reference
// as you like. One that waits parks its goroutine (blocks a plain thread). All functions: from any goroutine
// or thread. What happens before a done() is visible to every wait() that it lets return. add() above zero
// while others already wait is fine; from zero it must happen before the wait() that is to see it.
class wait_group {
 public:
  wait_group();   // throws std::bad_alloc
  wait_group(const wait_group& other) noexcept : core_(other.core_) { core_->retain(); }
  wait_group& operator=(const wait_group& other) noexcept {
    wait_group copy(other);
    std::swap(core_, copy.core_);
    return *this;
  }
  ~wait_group() {
    if (core_->drop()) delete core_;
  }

  // Do not park and keep the thread. Throw std::logic_error("sync: negative WaitGroup counter") and change
  // nothing if the counter would be negative.
  void add(int delta) const { core_->add(delta); }
  void done() const { core_->add(-1); }

  // Parks until the counter is zero. Throws std::logic_error("sync: WaitGroup is reused before previous Wait
  // has returned") if it was found above zero again.
  void wait() const {
    if (!core_->is_zero()) core_->wait_slow({});
  }
  // Park until then, the deadline or a stop request at most. Whether the counter was zero.
  template <class Rep, class Period>
  bool wait_for(const std::chrono::duration<Rep, Period>& d) const {
    return core_->is_zero() || core_->wait_slow({detail::deadline_after(d), nullptr});
  }
  template <class Clock, class Duration>
  bool wait_until(const std::chrono::time_point<Clock, Duration>& t) const {
    return core_->is_zero() || core_->wait_slow({detail::deadline_at(t), nullptr});
  }
  bool wait(std::stop_token stop) const {
    return core_->is_zero() || core_->wait_slow({detail::never, &stop});
  }

  // add(1), and a goroutine that calls f and then done(). Does not park; throws what add() and weft::go()
  // throw. done() also when f ends its goroutine by exit(). An exception that leaves f ends the process,
  // before any done().
  template <class F>
    requires std::invocable<std::decay_t<F>>
  void go(F&& f) const;

 private:
  template <class F>
  struct member;

  detail::wait_group_core* core_;
};

template <class F>
struct wait_group::member {
  wait_group group;
  F f;
  void operator()() && {
    try {
      std::move(f)();
    } catch (const goroutine_exit&) {
      group.done();
      throw;
    }
    group.done();
  }
};

template <class F>
  requires std::invocable<std::decay_t<F>>
void wait_group::go(F&& f) const {
  detail::refuse_nil(f);
  add(1);
  struct undo {
    const wait_group* group;
    ~undo() {
      if (group) group->done();
    }
  } on_failure{this};
  weft::go(member<std::decay_t<F>>{*this, std::forward<F>(f)});
  on_failure.group = nullptr;
}

}  // namespace weft::inline v0
