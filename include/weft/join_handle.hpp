// join_handle.hpp — spawn(): a goroutine whose result, exception and end somebody waits for.
//
//   auto h = weft::spawn([](std::stop_token stop, int n) { ...; return n * 2; }, 21);
//   int v = h.join();                     // parks; rethrows what the function threw
//
// Who answers for an exception that left the function, the one rule:
//   join, join_for, join_until   rethrow it: it has been asked for
//   detach(), the destructor     nobody will ask any more: the process ends as after an exception in go(),
//                                with status 2; for one that comes after detach(), where it comes up
//
// One allocation holds the state word, the result, the closure; the goroutine's own closure is a pointer to
// it. The protocol of the state word stands in src/task/join_state.cpp.
#pragma once
#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <new>
#include <stdexcept>
#include <stop_token>
#include <system_error>
#include <tuple>
#include <type_traits>
#include <utility>

#include "weft/detail/atomic.hpp"
#include "weft/detail/deadline.hpp"
#include "weft/detail/start.hpp"
#include "weft/go.hpp"
#include "weft/result.hpp"
#include "weft/this_goroutine.hpp"

namespace weft::inline v0 {

template <class T>
class join_handle;

// join() on a goroutine that has no result: it called this_goroutine::exit(), or its world ended before it
// did.
class goroutine_exited : public std::logic_error {
 public:
  goroutine_exited();
};

namespace detail {

// The shared half without its type. Owned by the handle until it detaches, then by the goroutine.
class join_state {
 public:
  enum class outcome : std::uint8_t { none, value, exception, exited };
  enum class waited : std::uint8_t { done, timed_out, lost };   // lost: the goroutine's world has ended
  using destroyer = void (*)(join_state*) noexcept;

  explicit join_state(destroyer how_to_destroy) noexcept : destroy_(how_to_destroy) {}
  join_state(const join_state&) = delete;
  join_state& operator=(const join_state&) = delete;

  void set_goroutine(rt::goroutine* gp) noexcept { gp_ = gp; }   // before it is runnable
  // By the goroutine.
  bool is_detached() const noexcept;                             // a hint, it may become so
  void finish() noexcept;                                        // outside; the last touch
  // By the handle.
  waited wait(std::int64_t deadline);                            // parks, or blocks a plain thread
  bool let_go() noexcept;                                        // true: the goroutine owns it now
  void destroy() noexcept { destroy_(this); }

  std::stop_source stop{std::nostopstate};                       // with a state if the function takes a token
  std::exception_ptr error;
  outcome how = outcome::none;                                   // written before finish()

 protected:
  ~join_state() = default;

 private:
  rt::atomic<std::uintptr_t> word_{0};
  rt::goroutine* gp_ = nullptr;
  destroyer destroy_;
};

[[noreturn]] void die_of_unasked(std::exception_ptr error) noexcept;   // as one that leaves a goroutine
[[noreturn]] void throw_exited();
[[noreturn]] void throw_not_joinable();

template <class T>
class join_result : public join_state {   // plus the place of the result
 public:
  using join_state::join_state;
  template <class F>
  void emplace(F&& make) { ::new (static_cast<void*>(&place_)) T(std::forward<F>(make)()); }
  T take() { return std::move(value()); }
  void drop() noexcept { if (how == outcome::value) value().~T(); }

 private:
  T& value() noexcept { return *std::launder(reinterpret_cast<T*>(&place_)); }
  alignas(T) std::byte place_[sizeof(T)];
};

template <class T>
class join_result<T&> : public join_state {
 public:
  using join_state::join_state;
  template <class F>
  void emplace(F&& make) { place_ = std::addressof(std::forward<F>(make)()); }
  T& take() { return *place_; }
  void drop() noexcept {}

 private:
  T* place_ = nullptr;
};

template <>
class join_result<void> : public join_state {
 public:
  using join_state::join_state;
  template <class F>
  void emplace(F&& make) { std::forward<F>(make)(); }
  void take() {}
  void drop() noexcept {}
};

// The whole allocation. The closure lives until it has returned, the rest until it is joined.
template <class T, bool TakesStop, class F, class... Args>
class spawned final : public join_result<T> {
 public:
  template <class... A>
  explicit spawned(A&&... parts) : join_result<T>(&delete_it) {
    if constexpr (TakesStop) this->stop = std::stop_source();
    std::construct_at(&closure_, std::forward<A>(parts)...);
  }
  ~spawned() { this->drop(); }
  void drop_closure() noexcept { std::destroy_at(&closure_); }

  void run() {
    struct at_end {   // on the way out by exit() too
      spawned* self;
      ~at_end() { self->drop_closure(); self->finish(); }
    } guard{this};
    this->how = join_state::outcome::exited;
    try {
      this->emplace([this]() -> T { return call(); });
      this->how = join_state::outcome::value;
    } catch (const goroutine_exit&) {
      throw;
    } catch (...) {
      if (this->is_detached()) die_of_unasked(std::current_exception());
      this->error = std::current_exception();
      this->how = join_state::outcome::exception;
    }
  }

 private:
  static void delete_it(join_state* s) noexcept { delete static_cast<spawned*>(s); }
  T call() {
    return std::apply(
        [&](F& f, Args&... args) -> T {
          if constexpr (TakesStop)
            return std::invoke(std::move(f), this->stop.get_token(), std::move(args)...);
          else
            return std::invoke(std::move(f), std::move(args)...);
        },
        closure_);
  }
  union { std::tuple<F, Args...> closure_; };
};

template <class F, class... Args>
inline constexpr bool takes_stop =
    std::invocable<std::decay_t<F>, std::stop_token, std::decay_t<Args>...>;

template <class F, class... Args>
concept spawnable = takes_stop<F, Args...> || std::invocable<std::decay_t<F>, std::decay_t<Args>...>;

template <bool TakesStop, class... Call>
struct spawn_result : std::invoke_result<Call...> {};
template <class F, class... Args>
struct spawn_result<true, F, Args...> : std::invoke_result<F, std::stop_token, Args...> {};
template <class F, class... Args>
using spawn_result_t =
    typename spawn_result<takes_stop<F, Args...>, std::decay_t<F>, std::decay_t<Args>...>::type;

template <class T, class F, class... Args>
join_handle<T> start_spawned(const birth& how, F&& f, Args&&... args);

}  // namespace detail

// What a spawned goroutine leaves behind. Movable; one thread or goroutine at a time uses a handle. What the
// goroutine did happens before its join returns. All that waits parks a goroutine and blocks a plain thread.
// When the world ends before the goroutine has, a join that begins later throws goroutine_exited, but a plain
// thread that already waits in one without a limit waits for ever.
template <class T>
class [[nodiscard("a dropped handle joins at once: call detach(), or go()")]] join_handle {
 public:
  join_handle() noexcept = default;
  join_handle(join_handle&& other) noexcept : state_(std::exchange(other.state_, nullptr)) {}
  join_handle& operator=(join_handle&& other) noexcept {
    join_handle old(std::move(*this));
    state_ = std::exchange(other.state_, nullptr);
    return *this;
  }
  // As std::jthread: requests stop and joins. Parks. The process ends if the goroutine threw (the rule
  // above).
  ~join_handle() {
    if (!state_) return;
    request_stop();
    // Lost: a thread that is still in it may touch the state.
    if (state_->wait(detail::never) == detail::join_state::waited::lost) return;
    leave();
  }

  bool joinable() const noexcept { return state_ != nullptr; }

  // Waits for the end and returns the result, once: not joinable afterwards, also when it throws. Throws what
  // the function threw; goroutine_exited when there is no result; std::system_error when not joinable. Parks.
  T join() {
    if (!state_) detail::throw_not_joinable();
    return ask(state_->wait(detail::never));
  }

  // The same with a limit: result<T> (of a reference_wrapper for a T&), or errc::timed_out; the handle stays
  // joinable then. Parks.
  template <class Rep, class Period>
  auto join_for(const std::chrono::duration<Rep, Period>& d) { return join_by(detail::deadline_after(d)); }
  template <class Clock, class Duration>
  auto join_until(const std::chrono::time_point<Clock, Duration>& t) {
    return join_by(detail::deadline_at(t));
  }

  // The goroutine goes on by itself, its result is dropped. Does not park. Ends the process if it has thrown
  // already.
  void detach() {
    if (!state_) detail::throw_not_joinable();
    if (state_->let_go())
      state_ = nullptr;
    else
      leave();
  }

  // The goroutine's token; without a state when its function takes none. Neither parks; request_stop() runs
  // the stop callbacks. What happens before request_stop() is visible to whoever sees the request.
  std::stop_token get_stop_token() const noexcept {
    return state_ ? state_->stop.get_token() : std::stop_token();
  }
  bool request_stop() noexcept {
    return state_ && state_->stop.stop_possible() && state_->stop.request_stop();
  }

  void swap(join_handle& other) noexcept { std::swap(state_, other.state_); }
  friend void swap(join_handle& a, join_handle& b) noexcept { a.swap(b); }

 private:
  template <class U, class F, class... Args>
  friend join_handle<U> detail::start_spawned(const detail::birth& how, F&& f, Args&&... args);
  explicit join_handle(detail::join_result<T>* state) noexcept : state_(state) {}

  struct destroy_it {
    void operator()(detail::join_result<T>* s) const noexcept { s->destroy(); }
  };

  T ask(detail::join_state::waited how) {   // done or lost
    detail::join_result<T>* s = std::exchange(state_, nullptr);
    if (how == detail::join_state::waited::lost) detail::throw_exited();
    std::unique_ptr<detail::join_result<T>, destroy_it> owner(s);
    if (s->how == detail::join_state::outcome::exception) std::rethrow_exception(std::move(s->error));
    if (s->how == detail::join_state::outcome::exited) detail::throw_exited();
    return s->take();
  }

  template <class U>
  struct answered { using type = result<U>; };
  template <class U>
  struct answered<U&> { using type = result<std::reference_wrapper<U>>; };
  using answer = typename answered<T>::type;

  answer join_by(std::int64_t deadline) {
    if (!state_) detail::throw_not_joinable();
    const auto how = state_->wait(deadline);
    if (how == detail::join_state::waited::timed_out) return errc::timed_out;
    if constexpr (std::is_void_v<T>) {
      ask(how);
      return {};
    } else if constexpr (std::is_reference_v<T>) {
      return std::ref(ask(how));
    } else {
      return answer(ask(how));
    }
  }

  void leave() noexcept {   // it has ended and nobody asks
    if (state_->how == detail::join_state::outcome::exception)
      detail::die_of_unasked(std::move(state_->error));
    std::exchange(state_, nullptr)->destroy();
  }

  detail::join_result<T>* state_ = nullptr;
};

namespace detail {

template <class T, class F, class... Args>
[[gnu::always_inline]] inline join_handle<T> start_spawned(const birth& how, F&& f, Args&&... args) {
  using task = spawned<T, takes_stop<F, Args...>, std::decay_t<F>, std::decay_t<Args>...>;
  refuse_nil(f);
  auto* s = new task(std::forward<F>(f), std::forward<Args>(args)...);
  struct unborn_guard {   // no goroutine could be had
    task* s;
    ~unborn_guard() {
      if (!s) return;
      s->drop_closure();
      s->destroy();
    }
  } guard{s};
  unborn u = conceive(how, sizeof(task*), alignof(task*));
  ::new (u.closure) task*(s);
  s->set_goroutine(u.gp);
  guard.s = nullptr;
  bear(u, [](void* closure) { (*static_cast<task**>(closure))->run(); });
  return join_handle<T>(s);
}

}  // namespace detail

// Starts a goroutine that calls f(args...) on decayed copies, or f(stop_token, args...) if it can be called
// so. As go() otherwise: does not park, callable from anywhere, throws std::bad_alloc and what the copies
// throw.
template <class F, class... Args>
  requires detail::spawnable<F, Args...>
[[gnu::always_inline]] inline join_handle<detail::spawn_result_t<F, Args...>>
spawn(const attrs& how, F&& f, Args&&... args) {
  return detail::start_spawned<detail::spawn_result_t<F, Args...>>(
      detail::birth{how.name, how.stack_size, how.locked, how.fp_env}, std::forward<F>(f),
      std::forward<Args>(args)...);
}

template <class F, class... Args>
  requires detail::spawnable<F, Args...>
[[gnu::always_inline]] inline join_handle<detail::spawn_result_t<F, Args...>>
spawn(F&& f, Args&&... args) {
  return detail::start_spawned<detail::spawn_result_t<F, Args...>>(detail::birth{}, std::forward<F>(f),
                                                                   std::forward<Args>(args)...);
}

}  // namespace weft::inline v0
