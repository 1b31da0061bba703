// blocking.hpp — announce a call that may block its thread.
//
//   auto row = weft::blocking([&] { return sqlite3_step(statement); });
//
// Nobody has to: a call that blocks unannounced loses its processor too, once the runtime has made sure that
// it blocks. An announced one loses it sooner, and a place in the program whose calls have been long hands it
// on at once when others wait. A short call costs a few nanoseconds.
#pragma once
#include <concepts>
#include <cstdint>
#include <functional>
#include <utility>

#include "weft/detail/atomic.hpp"

namespace weft::inline v0 {

namespace rt { struct machine; }

namespace detail {

// What is known about the calls made at one place.
struct call_site {
  rt::atomic<std::uint8_t> long_calls{0};   // above 0: hand the processor on at once
};

class [[nodiscard]] blocking_scope {
 public:
  explicit blocking_scope(call_site& site) noexcept;
  ~blocking_scope();
  blocking_scope(const blocking_scope&) = delete;
  blocking_scope& operator=(const blocking_scope&) = delete;

 private:
  void begin_long(rt::machine* mp) noexcept;   // the calls made here have been long
  void note_end(rt::machine* mp) noexcept;

  call_site& site_;
  std::int64_t began_at_ = 0;               // ns; 0: not noted
};

}  // namespace detail

// Runs f here, on this thread, and returns what it returns or throws. Does not park: the goroutine keeps its
// thread. While f runs, other goroutines may take its processor; afterwards it may have to wait for one. f
// may do anything, also call Weft, which first gets a processor back; nested announcements are all right. On
// a plain thread: just f(). A place is a type of f: each lambda is one.
template <std::invocable F>
decltype(auto) blocking(F&& f) {
  static constinit detail::call_site site;
  detail::blocking_scope scope(site);
  return std::invoke(std::forward<F>(f));
}

}  // namespace weft::inline v0
