// runtime.hpp — begin and end a world: run(), and the number of processors.
#pragma once
#include <concepts>
#include <optional>
#include <type_traits>
#include <utility>

#include "weft/go.hpp"

namespace weft::inline v0 {

struct options {
  int maxprocs = 0;       // 0: WEFT_MAXPROCS, or the CPUs that affinity and cgroup quotas leave
  int max_threads = 0;    // 0: WEFT_MAXTHREADS, or 10,000

  // Called with thread_arg on each thread that run() starts for goroutines: before the first of them, and
  // when the thread ends. As on a plain thread: they may do anything a thread may (name it, set its affinity,
  // warm up a library), on its 256 KiB of stack; a wait in Weft blocks the thread, and work waits for it. An
  // exception that leaves one ends the process. A thread that serves a later run() too is not started anew;
  // it ends with the thread_stop and the arg that it began with, perhaps after run() has returned. Threads
  // that still exist when the process ends get no thread_stop.
  void (*thread_start)(void* arg) = nullptr;
  void (*thread_stop)(void* arg) = nullptr;
  void* thread_arg = nullptr;
};

namespace detail {
void run_world(const options& how, void (*entry)(void*), void* arg);
}

// Runs f as the main goroutine (id 1 in the first world) and returns its result. When f returns, every other
// goroutine stops for good at its next step, wherever it is: destructors of theirs do not run. An exception
// that leaves f ends the process, as one that leaves any goroutine. Callable again after it returned; nested
// or concurrent calls throw std::logic_error. From a plain thread only, which sleeps meanwhile: f runs on the
// runtime's threads.
template <class F>
  requires std::invocable<F&>
std::invoke_result_t<F&> run(const options& how, F f) {
  using result = std::invoke_result_t<F&>;
  if constexpr (std::is_void_v<result>) {
    detail::run_world(how, [](void* p) { (*static_cast<F*>(p))(); }, &f);
  } else {
    struct frame { F& f; std::optional<result> value; } frame{f, std::nullopt};
    using frame_t = decltype(frame);
    auto entry = [](void* p) {
      auto* x = static_cast<frame_t*>(p);
      x->value.emplace(x->f());
    };
    detail::run_world(how, entry, &frame);
    return std::move(*frame.value);
  }
}

template <class F>
  requires std::invocable<F&>
auto run(F f) { return run(options{}, std::move(f)); }

// The number of processors. Does not park; any thread.
int maxprocs() noexcept;

// Changes it to n (1 to 4096; clamped), stops the automatic update, returns the old value. n < 1 only reads.
// Parks the calling goroutine (blocks a plain thread) while the world is stopped.
int set_maxprocs(int n);

// Back to the automatic value, ignoring WEFT_MAXPROCS (Go's SetDefaultGOMAXPROCS). Parks as set_maxprocs.
void set_default_maxprocs();

// Live goroutines, the main one included, the runtime's own not. Does not park; any thread.
int num_goroutine() noexcept;

// Stops every processor, calls f (which must not use Weft and must not block), starts them again. Parks. For
// tools and tests.
void stop_the_world(void (*f)(void*), void* arg);

}  // namespace weft::inline v0
