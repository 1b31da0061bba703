// go.hpp — go(): start a goroutine and forget it. One to be waited for: spawn(), in join_handle.hpp.
#pragma once
#include <concepts>
#include <cstddef>
#include <type_traits>
#include <utility>

#include "weft/detail/start.hpp"

namespace weft::inline v0 {

// How a goroutine differs from the ordinary. All members may be left out.
struct attrs {
  const char* name = nullptr;     // for dumps; must outlive the goroutine (a literal)
  std::size_t stack_size = 0;     // bytes; 0: the default (256 KiB or WEFT_STACK)
  bool locked = false;            // starts locked to a thread of its own, as if by thread_lock
  bool fp_env = false;            // it changes MXCSR by itself (_mm_setcsr): switches carry MXCSR too
};

// Starts a goroutine that calls f(args...) on decayed copies. It is runnable when go() returns and takes the
// caller's place next (Go's run_next). Does not park; callable from any goroutine or thread, also before
// run() (it then waits for the world to begin). Throws std::bad_alloc when no goroutine can be had, and what
// the copies throw; an empty std::function throws std::bad_function_call ("go of nil func value"). A
// goroutine for which no stack can be had waits until one can.
// What happens before go() is visible to the goroutine. An exception that leaves f ends the process.
// Always inlined, as what it calls: the return address that the runtime sees is shown as "created by".
template <class F, class... Args>
  requires std::invocable<std::decay_t<F>, std::decay_t<Args>...>
[[gnu::always_inline]] inline void go(const attrs& how, F&& f, Args&&... args) {
  detail::start<detail::call<std::decay_t<F>, std::decay_t<Args>...>>(
      detail::birth{how.name, how.stack_size, how.locked, how.fp_env},
      std::forward<F>(f), std::forward<Args>(args)...);
}

template <class F, class... Args>
  requires std::invocable<std::decay_t<F>, std::decay_t<Args>...>
[[gnu::always_inline]] inline void go(F&& f, Args&&... args) {
  detail::start<detail::call<std::decay_t<F>, std::decay_t<Args>...>>(detail::birth{}, std::forward<F>(f),
                                                                       std::forward<Args>(args)...);
}

}  // namespace weft::inline v0
