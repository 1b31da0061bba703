// crash.cpp — ways to end badly, one for each name in the table below. Run by
// tests/conformance/crash_test.cpp.
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <functional>
#include <stdexcept>
#include <string>
#include <thread>

#include "weft/chan.hpp"
#include "weft/go.hpp"
#include "weft/mutex.hpp"
#include "weft/runtime.hpp"
#include "weft/this_goroutine.hpp"
#include "weft/timer.hpp"
#include "weft/wait_group.hpp"

namespace {

using weft::go;
namespace self = weft::this_goroutine;

template <class F>
struct at_exit {   // Go's defer
  F f;
  ~at_exit() noexcept(false) { f(); }
};
template <class F>
at_exit(F) -> at_exit<F>;

void wait_for_ever() { weft::chan<int>().recv(); }

void let_others_run() {
  for (int i = 0; i < 100; ++i) self::yield();
}

// ---- deadlocks ----

void simple_deadlock() { weft::make_chan<int>().recv(); }

void locked_deadlock() {
  weft::thread_lock here;
  wait_for_ever();
}

// The last that happens is the end of threads.
void deadlock_after_locked() {
  for (int i = 0; i < 4; ++i)
    go(weft::attrs{.locked = true}, [] { self::sleep_for(std::chrono::milliseconds(1)); });
  wait_for_ever();
}
// Nothing happens any more in Weft when it ends.
void deadlock_after_thread() {
  std::thread([] { usleep(100'000); }).detach();
  wait_for_ever();
}
void locked_deadlock_2() {
  go([] {
    weft::thread_lock here;
    wait_for_ever();
  });
  let_others_run();
  wait_for_ever();
}

void many_deadlock() {   // more goroutines than a dump shows
  for (int i = 0; i < 1500; ++i) go([] { wait_for_ever(); });
  let_others_run();
  wait_for_ever();
}

void mutex_deadlock() {
  weft::mutex m;
  m.lock();
  m.lock();
}

// ---- Goexit ----

void goexit_deadlock() {
  go([] { let_others_run(); });
  go([] { let_others_run(); });
  self::exit();
}

void goexit_crash() {
  go([] { self::sleep_for(std::chrono::milliseconds(20)); });
  self::exit();
}

void goexit_in_panic() {
  go([] {
    try {
      throw std::runtime_error("hello");
    } catch (...) {
      self::exit();
    }
  });
  self::exit();
}

void recovered_panic_after_goexit() {
  at_exit recover{[] {
    try {
      throw std::runtime_error("bad");
    } catch (const std::exception&) {
    }
  }};
  self::exit();
}

void recover_before_panic_after_goexit() {
  at_exit outer{[] {
    try {
      at_exit inner{[] {}};
      throw std::runtime_error("bad");
    } catch (const std::exception&) {
    }
  }};
  self::exit();
}

void panic_after_goexit() {
  at_exit thrower{[] { throw std::runtime_error("hello"); }};
  self::exit();
}

void exit_from_noexcept() {
  auto quiet = []() noexcept { self::exit(); };
  quiet();
}

// ---- panics ----

void panic() { throw std::runtime_error("oops"); }

void panic_in_goroutine() {
  go([] { panic(); });
  wait_for_ever();
}

void panic_of_int() { throw 42; }
void panic_of_text() { throw "plain text"; }
struct own_type {};
void panic_of_own_type() { throw own_type{}; }

void nested_panic() {   // Go: panic in a deferred function, three deep
  try {
    try {
      throw std::runtime_error("first");
    } catch (...) {
      std::throw_with_nested(std::logic_error("second"));
    }
  } catch (...) {
    std::throw_with_nested(std::out_of_range("third"));
  }
}

void double_panic() {
  at_exit thrower{[] { throw std::logic_error("YYY"); }};
  throw std::runtime_error("XXX");
}

void repanicked() {
  try {
    throw std::runtime_error("message");
  } catch (...) {
    throw;
  }
}

struct yielding_error : std::exception {
  const char* what() const noexcept override {
    for (int i = 0; i < 10; ++i) self::yield();
    return "1\n2\n3\n4\n5";
  }
};
void panic_text_yields() {
  go([] { throw yielding_error(); });
  wait_for_ever();
}

struct writing_error : std::exception {
  const char* what() const noexcept override {
    const char text[] = "written\n";
    if (write(1, text, sizeof text - 1) < 0) return "cannot write";
    return "1\n2";
  }
};
void panic_text_writes() {
  go([] { throw writing_error(); });
  wait_for_ever();
}

#pragma GCC diagnostic ignored "-Wterminate"
struct panicking_error : std::exception {
  const char* what() const noexcept override { throw std::runtime_error("again"); }
};
void panic_while_panicking() { throw panicking_error(); }

void panic_race() {   // main returns while another goroutine dies
  weft::wait_group about_to;
  about_to.add(1);
  go([about_to] {
    at_exit tell{[about_to] { about_to.done(); }};
    throw std::runtime_error("crash");
  });
  about_to.wait();
}

void panic_after_terminate() { std::terminate(); }

void users_handler() {
  throw std::runtime_error("for the handler");
}


void go_nil() {
  std::function<void()> nothing;
  go(nothing);
}

void after_timer() {   // the runtime's own goroutines, if any, are not shown
  self::sleep_for(std::chrono::milliseconds(1));
  weft::after(std::chrono::milliseconds(1)).recv();
  panic();
}

// ---- misuse ----

void send_on_closed() {
  auto c = weft::make_chan<int>(1);
  c.close();
  c.send(1);
}
void close_of_nil() { weft::chan<int>().close(); }
void close_of_closed() {
  auto c = weft::make_chan<int>();
  c.close();
  c.close();
}
void unlock_of_unlocked() {
  weft::mutex m;
  m.unlock();
}
void negative_wait_group() {
  weft::wait_group wg;
  wg.done();
}

// ---- limits ----

[[gnu::noinline]] int endless(volatile char* p) {
  if (p == nullptr) return 0;   // never; but so compilers believe that it ends
  volatile char room[1000];   // ThreadSanitizer remembers at most 65,536 calls
  room[0] = static_cast<char>(*p + 1);
  return endless(room) + room[0];
}
void stack_overflow() {
  go([] {
    volatile char seed = 0;
    endless(&seed);
  });
  wait_for_ever();
}
void stack_overflow_in_main() {
  volatile char seed = 0;
  endless(&seed);
}
void thread_exhaustion() {
  for (int i = 0; i < 100; ++i) {
    go([] {
      weft::thread_lock here;
      wait_for_ever();
    });
    self::yield();
  }
  wait_for_ever();
}

// ---- stacks to look at ----

void parent_child() {
  go(weft::attrs{.name = "child"}, [] {
    go(weft::attrs{.name = "grandchild"}, [] { throw std::runtime_error("from below"); });
    wait_for_ever();
  });
  wait_for_ever();
}

[[gnu::noinline]] int deep(int n) {
  if (n == 0) throw std::runtime_error("deep");
  int below = deep(n - 1);
  asm volatile("" : "+r"(below));   // or the compiler makes a loop of it
  return below + 1;
}
void elision() { std::printf("%d\n", deep(200)); }

inline void inlined_thrower() { throw std::runtime_error("inlined"); }
void inlined() { inlined_thrower(); }

void sleeper() {   // for signals
  go(weft::attrs{.name = "parked"}, [] { wait_for_ever(); });
  let_others_run();
  std::puts("ready");
  std::fflush(stdout);
  self::sleep_for(std::chrono::seconds(300));
}

// ---- the table ----

struct { const char* name; void (*run)(); } const cases[] = {
    {"simple_deadlock", simple_deadlock},
    {"locked_deadlock", locked_deadlock},
    {"locked_deadlock_2", locked_deadlock_2},
    {"deadlock_after_locked", deadlock_after_locked},
    {"deadlock_after_thread", deadlock_after_thread},
    {"many_deadlock", many_deadlock},
    {"mutex_deadlock", mutex_deadlock},
    {"goexit_deadlock", goexit_deadlock},
    {"goexit_crash", goexit_crash},
    {"goexit_in_panic", goexit_in_panic},
    {"recovered_panic_after_goexit", recovered_panic_after_goexit},
    {"recover_before_panic_after_goexit", recover_before_panic_after_goexit},
    {"panic_after_goexit", panic_after_goexit},
    {"exit_from_noexcept", exit_from_noexcept},
    {"panic", panic},
    {"panic_in_goroutine", panic_in_goroutine},
    {"panic_of_int", panic_of_int},
    {"panic_of_text", panic_of_text},
    {"panic_of_own_type", panic_of_own_type},
    {"nested_panic", nested_panic},
    {"double_panic", double_panic},
    {"repanicked", repanicked},
    {"panic_text_yields", panic_text_yields},
    {"panic_text_writes", panic_text_writes},
    {"panic_while_panicking", panic_while_panicking},
    {"panic_race", panic_race},
    {"panic_after_terminate", panic_after_terminate},
    {"users_handler", users_handler},
    {"go_nil", go_nil},
    {"after_timer", after_timer},
    {"send_on_closed", send_on_closed},
    {"close_of_nil", close_of_nil},
    {"close_of_closed", close_of_closed},
    {"unlock_of_unlocked", unlock_of_unlocked},
    {"negative_wait_group", negative_wait_group},
    {"stack_overflow", stack_overflow},
    {"stack_overflow_in_main", stack_overflow_in_main},
    {"thread_exhaustion", thread_exhaustion},
    {"parent_child", parent_child},
    {"elision", elision},
    {"inlined", inlined},
    {"sleeper", sleeper},
};

[[noreturn]] void handler_of_the_user() {
  std::fputs("the user's terminate handler\n", stderr);
  std::_Exit(42);
}

}  // namespace

int main(int argc, char** argv) {
  const char* wanted = argc > 1 ? argv[1] : "";
  if (std::strcmp(wanted, "users_handler") == 0) std::set_terminate(handler_of_the_user);
  weft::options how;
  if (std::strcmp(wanted, "thread_exhaustion") == 0) how.max_threads = 10;
  for (auto& c : cases) {
    if (std::strcmp(c.name, wanted) != 0) continue;
    weft::run(how, c.run);
    std::puts("returned");
    return 0;
  }
  std::fprintf(stderr, "no case %s\n", wanted);
  return 1;
}
