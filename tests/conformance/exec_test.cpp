// exec_test.cpp — Go's tests about starting processes, restated with fork, posix_spawn and exec of libc: the
// calling goroutine may be interrupted and lose its processor in them, but nothing of that reaches the child.
// Each runs a case of tests/programs/exec.cpp.
#include <gtest/gtest.h>

#include <string>

#include "child.hpp"
#include "weft_test.hpp"

namespace {

// With slices of the usual length, and so short that everything is interrupted.
void expect_ok(std::vector<std::string> arguments, int times) {
  for (int i = 0; i < times; ++i)
    for (const char* how : {"", "slice=200"}) {
      weft_test::child_result r =
          weft_test::run_program("exec", arguments, {std::string("WEFTDEBUG=") + how});
      ASSERT_EQ(r.exit_status, 0) << how << '\n' << r;
      ASSERT_EQ(r.out, "OK\n") << how << '\n' << r;
    }
}

TEST(exec_test, TestSignalDuringExec) { expect_ok({"signal_during_exec"}, weft_test::scaled(5)); }
TEST(exec_test, TestExec) {
  expect_ok({"exec_self", std::to_string(weft_test::scaled(20, 3))}, 1);
  expect_ok({"exec_many"}, weft_test::scaled(3));
}
TEST(exec_test, TestConcurrentExec) { expect_ok({"concurrent_exec"}, weft_test::scaled(3)); }
TEST(exec_test, TestCgoExecSignalMask) { expect_ok({"exec_signal_mask"}, 1); }

}  // namespace
