// fork_test.cpp — children of goroutines: they exec, whatever the others do; or may call nothing of Weft.
#include <gtest/gtest.h>

#include <string>

#include "support/child.hpp"
#include "support/weft_test.hpp"

namespace {

using weft_test::child_result;
using weft_test::run_program;

std::string procs(int n) { return "WEFT_MAXPROCS=" + std::to_string(n); }

// fork, posix_spawn, system and popen beside goroutines that are stopped everywhere in malloc.
TEST(fork, ChildrenInAStorm) {
  for (int n : {1, 2, 4, 8}) {
    for (const char* how : {"WEFTDEBUG=slice=200", "WEFTDEBUG=slice=10000"}) {
      const child_result r = run_program("children", {"storm"}, {procs(n), how});
      EXPECT_EQ(r.exit_status, 0) << n << " processors, " << how << '\n' << r;
    }
  }
}

TEST(fork, CallsInTheChildAbort) {
  for (const char* call :
       {"yield", "go", "send", "close", "lock", "sleep", "select", "run", "id", "dump", "spawn"}) {
    const child_result r = run_program("children", {"call", call}, {procs(2)});
    EXPECT_EQ(r.exit_status, 0) << call << '\n' << r;
    EXPECT_EQ(r.err, "fatal error: weft: called in the child of a fork, which may only exec\n") << call;
  }
}

TEST(fork, DestructorsInTheChildDoNothing) {
  // The leak checker complains, in the child, that it does not find its parent's threads.
  const child_result r = run_program("children", {"leave_child"}, {procs(2), "ASAN_OPTIONS=detect_leaks=0"});
  EXPECT_EQ(r.exit_status, 0) << r;
  EXPECT_EQ(r.err, "");
}

TEST(fork, NoThreadIsMadeMeanwhile) {
  const child_result r = run_program("children", {"creation"}, {procs(2)});
  EXPECT_EQ(r.exit_status, 0) << r;
}

}  // namespace
