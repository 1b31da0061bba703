// weft_test.hpp — what most tests of the runtime start from.
//
//   for_each_procs(f)    f as the main goroutine at 1, 2, 4 and 8 processors, watched; f or f(procs)
//   with_procs(n, f)     the same, once
//   watchdog             a test that takes too long ends the process with the dump of all goroutines
//   scaled(n)            n, or less where a sanitizer makes everything slow
//   flag                 an event that one side sets and the other waits for, without weft (spins, yields the
//                        thread)
//
// EXPECT_ and ASSERT_ work in goroutines and on threads (GoogleTest locks); ASSERT_ returns from the
// goroutine only. SCOPED_TRACE does not: it belongs to the thread, and a goroutine changes its thread.
#pragma once
#include <gtest/gtest.h>

#include <atomic>
#include <concepts>
#include <cstddef>
#include <cstdio>
#include <type_traits>

#include "weft/runtime.hpp"
#include "weft/this_goroutine.hpp"

namespace weft_test {

#if defined(__has_feature)   // Clang
#if __has_feature(address_sanitizer)
#define WEFT_TEST_ASAN
#endif
#elif defined(__SANITIZE_ADDRESS__)
#define WEFT_TEST_ASAN
#endif
#if defined(WEFT_TSAN) || defined(__SANITIZE_THREAD__)
inline constexpr int slowdown = 20;
inline constexpr bool under_tsan = true;
#elif defined(WEFT_TEST_ASAN)
inline constexpr int slowdown = 8;
inline constexpr bool under_tsan = false;
#else
inline constexpr int slowdown = 1;
inline constexpr bool under_tsan = false;
#endif

// How many rounds: n, or n/slowdown (at least 1, at least `least`) in a sanitizer build.
inline int scaled(int n, int least = 1) {
  const int fewer = n / slowdown;
  return fewer < least ? (least < n ? least : n) : fewer;
}

// While one exists, the process must not take longer than `seconds` (more under sanitizers): it ends with
// "watchdog: WHAT", the dump of all goroutines and exit status 2. By SIGALRM, so that no extra thread hides a
// deadlock from the detector. They nest; the inner one counts while it lives. `what` must outlive it.
class watchdog {
 public:
  explicit watchdog(const char* what, int seconds = 60);
  ~watchdog();
  watchdog(const watchdog&) = delete;
  watchdog& operator=(const watchdog&) = delete;

 private:
  const char* outer_what_;
  unsigned outer_left_;
};

template <class F>
void with_procs(int procs, F&& f) {
  const bool failed_before = ::testing::Test::HasFailure();
  {
    const auto* info = ::testing::UnitTest::GetInstance()->current_test_info();
    watchdog dog(info ? info->name() : "test");
    weft::run(weft::options{.maxprocs = procs}, [&] {
      if constexpr (std::invocable<F&, int>)
        f(procs);
      else
        f();
    });
  }
  if (!failed_before && ::testing::Test::HasFailure())
    std::fprintf(stderr, "  first failed with %d procs\n", procs);
}

template <class F>
void for_each_procs(F&& f) {
  for (int procs : {1, 2, 4, 8}) {
    with_procs(procs, f);
    if (::testing::Test::HasFatalFailure()) return;
  }
}

class flag {
 public:
  void set() noexcept { set_.store(true, std::memory_order_release); }
  bool is_set() const noexcept { return set_.load(std::memory_order_acquire); }
  void wait() const noexcept;        // on a thread: blocks it
  void wait_in_goroutine() const {   // lets other goroutines run meanwhile
    while (!is_set()) weft::this_goroutine::yield();
  }

 private:
  std::atomic<bool> set_{false};
};

}  // namespace weft_test
