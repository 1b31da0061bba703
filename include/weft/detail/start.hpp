// start.hpp — from a callable to a goroutine: its closure is built outside the runtime, in its own block.
#pragma once
#include <cstddef>
#include <functional>
#include <new>
#include <tuple>
#include <type_traits>
#include <utility>

namespace weft::inline v0::rt {
struct goroutine;
}

namespace weft::inline v0::detail {

struct birth {
  const char* name = nullptr;
  std::size_t stack_size = 0;
  bool locked = false;
  bool fp_env = false;
};

// A goroutine that has a place for its closure and is not yet known to anybody.
struct unborn {
  rt::goroutine* gp;
  void* closure;      // `size` bytes, aligned as asked
};
unborn conceive(const birth& how, std::size_t size, std::size_t align);  // throws std::bad_alloc
void abandon(unborn u) noexcept;                                         // the closure could not be built
void bear(unborn u, void (*entry)(void*)) noexcept;                      // now it is runnable
[[noreturn]] void throw_nil_function();

template <class F, class... Args>
class call {
 public:
  template <class G, class... A>
  explicit call(G&& f, A&&... args) : f_(std::forward<G>(f)), args_(std::forward<A>(args)...) {}
  void operator()() && { std::apply(std::move(f_), std::move(args_)); }

 private:
  F f_;
  std::tuple<Args...> args_;
};

template <class F>
class call<F> {
 public:
  template <class G>
  explicit call(G&& f) : f_(std::forward<G>(f)) {}
  void operator()() && { std::move(f_)(); }

 private:
  F f_;
};

template <class Closure>
void run_closure(void* p) {
  auto* c = static_cast<Closure*>(p);
  struct destroy_at_end {   // on the way out by exit() too
    Closure* c;
    ~destroy_at_end() { c->~Closure(); }
  } guard{c};
  std::move (*c)();
}

// A null function pointer or an empty std::function is refused here, where the mistake is.
template <class F>
void refuse_nil(const F& f) {
  if constexpr (!std::is_function_v<F> && requires { f == nullptr; }) {
    if (f == nullptr) throw_nil_function();
  }
}

template <class Closure, class F, class... Args>
[[gnu::always_inline]] inline void start(const birth& how, F&& f, Args&&... args) {
  refuse_nil(f);
  unborn u = conceive(how, sizeof(Closure), alignof(Closure));
  struct guard_t {
    unborn* u;
    ~guard_t() { if (u) abandon(*u); }
  } guard{&u};
  ::new (u.closure) Closure(std::forward<F>(f), std::forward<Args>(args)...);
  guard.u = nullptr;
  bear(u, &run_closure<Closure>);
}

}  // namespace weft::inline v0::detail
