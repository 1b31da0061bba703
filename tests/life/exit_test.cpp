// exit_test.cpp — the process ends while goroutines exist; and the watchdog, when nothing goes on any more.
#include <gtest/gtest.h>
#include <signal.h>

#include <string>

#include "support/child.hpp"
#include "support/weft_test.hpp"

namespace {

using weft_test::child_result;
using weft_test::run_program;

child_result ends(const std::string& how, int procs, const std::string& debug = "slice=200") {
  return run_program("ends", {how}, {"WEFT_MAXPROCS=" + std::to_string(procs), "WEFTDEBUG=" + debug});
}

// Handlers allocate, print and talk to goroutines; goroutines wait in static objects that are destroyed.
TEST(exit, InAStorm) {
  for (int procs : {1, 2, 4, 8}) {
    for (const char* how : {"exit", "exit_on_thread"}) {
      const child_result r = ends(how, procs);
      EXPECT_EQ(r.exit_status, 3) << how << ", " << procs << '\n' << r;
      EXPECT_EQ(r.out, "destroyed\nanswer 2\ndestroyed\n") << how << ", " << procs << '\n' << r;
      EXPECT_EQ(r.err, "") << how << ", " << procs;
    }
  }
}

TEST(exit, WithoutDestructors) {
  for (int procs : {1, 2, 4, 8}) {
    EXPECT_EQ(ends("_exit", procs).exit_status, 3);
    const child_result r = ends("quick_exit", procs);
    EXPECT_EQ(r.exit_status, 3) << r;
    EXPECT_EQ(r.err, "");
    EXPECT_EQ(ends("abort", procs).signal, SIGABRT);
  }
}

// A thread that is stopped with a lock does not have to wait for its turn.
TEST(exit, StoppedThreadsGoOn) {
  const child_result r = ends("stopped_with_lock", 1, "slice=200000");
  EXPECT_EQ(r.exit_status, 3) << r;
  EXPECT_EQ(r.out.find("prompt\n"), 0u) << r;
}

TEST(exit, OfAThreadInAGoroutine) {
  if (weft_test::under_tsan) GTEST_SKIP() << "TSan's own pthread_exit stops at a fibre";
  const child_result r = ends("pthread_exit", 2);
  EXPECT_EQ(r.exit_status, 2) << r;
  EXPECT_NE(r.err.find("fatal error: pthread_exit in a goroutine\n"), r.err.npos) << r;
}

// A goroutine inside the runtime waits for one that is stopped: told once, then the other one goes on.
TEST(watchdog, TellsAndLetsGo) {
  if (weft_test::under_tsan) GTEST_SKIP() << "nobody is stopped by a signal";
  const child_result r = ends("standstill", 1);
  EXPECT_EQ(r.exit_status, 0) << r;
  EXPECT_EQ(r.out.find("goes on\n"), 0u) << r;
  EXPECT_EQ(r.err.find("weft: nothing has been scheduled for a second"), 0u) << r;
  EXPECT_NE(r.err.find("\n  P0: status=1"), r.err.npos) << r;
  EXPECT_EQ(r.err.find("weft:", 1), r.err.npos) << "told twice\n" << r;
}

}  // namespace
