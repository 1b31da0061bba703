// once.hpp — run something exactly once: std's call_once, Go's OnceFunc and OnceValue.
#pragma once
#include <concepts>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <type_traits>
#include <utility>
#include <variant>

#include "weft/detail/wait_list.hpp"
#include "weft/this_goroutine.hpp"

namespace weft::inline v0 {

// std::once_flag.
class once_flag {
 public:
  constexpr once_flag() noexcept = default;
  ~once_flag() { list_.check_destroyed("once_flag"); }
  once_flag(const once_flag&) = delete;
  once_flag& operator=(const once_flag&) = delete;

 private:
  template <class F, class... Args>
  friend void call_once(once_flag& flag, F&& f, Args&&... args);

  // untouched ──begin()──> running ──end(true)──> done
  //     ^                     │   (waiters: the list may have some)
  //     └──────end(false)─────┘
  static constexpr std::uint32_t untouched = 0, running = 1, done = 2, waiters = 4;

  // [order] acquire pairs with end().
  bool is_done() const noexcept { return state_.load(rt::acquire) == done; }
  bool begin();                        // parks while another runs it; true: the caller must run it
  void end(bool is_done_now) noexcept;

  rt::atomic<std::uint32_t> state_{untouched};
  detail::wait_list list_;
};

// Calls f(args...) unless an earlier call with this flag has returned normally; parks while another goroutine
// runs it. As std::call_once: if f throws (this_goroutine::exit included), that comes out and the next caller
// tries again. From any goroutine or thread. What f did is visible to everybody whose call_once has returned.
// A call from within f waits for itself.
template <class F, class... Args>
void call_once(once_flag& flag, F&& f, Args&&... args) {
  if (flag.is_done()) [[likely]] return;
  if (!flag.begin()) return;
  struct attempt {
    once_flag& flag;
    bool succeeded = false;
    ~attempt() { flag.end(succeeded); }
  } now{flag};
  std::invoke(std::forward<F>(f), std::forward<Args>(args)...);
  now.succeeded = true;
}

namespace detail {

// What the copies of a once_function or once_value share.
template <class F, class R>
class once_result {
 public:
  template <class G>
  explicit once_result(G&& f) : f_(std::in_place, std::forward<G>(f)) {}

  const R& get() {
    call_once(flag_, [this] { run(); });
    if (error_) std::rethrow_exception(error_);
    if (!value_) throw std::logic_error("sync: the function of a once ended its goroutine");
    return *value_;
  }

 private:
  // The function is gone when the call is over, however it ended. An exit() goes on unwinding the goroutine
  // that ran into it; it must not be swallowed, and so it leaves call_once, which would try again: f_ is
  // empty then.
  void run() {
    if (!f_) return;
    struct release {
      std::optional<F>& f;
      ~release() { f.reset(); }
    } at_end{f_};
    try {
      value_.emplace(call());
    } catch (const goroutine_exit&) {
      throw;
    } catch (...) {
      error_ = std::current_exception();
    }
  }
  R call() {
    if constexpr (std::is_same_v<R, std::monostate>) {
      std::invoke(*f_);
      return {};
    } else {
      return std::invoke(*f_);
    }
  }

  once_flag flag_;
  std::optional<F> f_;
  std::optional<R> value_;
  std::exception_ptr error_;
};

}  // namespace detail

// A function object that calls f once: the first call runs it (others park meanwhile); all return when it is
// done. Go's OnceFunc: an exception of f is remembered, and every call throws it; if f ended its goroutine by
// exit(), every later call throws std::logic_error. Copies share. f is destroyed when it has run.
template <class F>
  requires std::invocable<std::decay_t<F>&>
auto once_function(F&& f) {
  using shared = detail::once_result<std::decay_t<F>, std::monostate>;
  return [once = std::make_shared<shared>(std::forward<F>(f))] { once->get(); };
}

// The same for a function with a result, as Go's OnceValue: every call returns a reference to the one result,
// which lives as long as the last copy.
template <class F>
  requires std::invocable<std::decay_t<F>&>
auto once_value(F&& f) {
  using result = std::remove_cvref_t<std::invoke_result_t<std::decay_t<F>&>>;
  using shared = detail::once_result<std::decay_t<F>, result>;
  return [once = std::make_shared<shared>(std::forward<F>(f))]() -> const result& { return once->get(); };
}

}  // namespace weft::inline v0
