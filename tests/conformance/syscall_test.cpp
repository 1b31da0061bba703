// syscall_test.cpp — Go's syscall/syscall_linux_test.go, as far as it is about the threads of a process: a
// change that POSIX makes to the process reaches every thread. Go has calls of its own for it; C++ has libc's
// setuid() and its kin, which must work with our threads in any state. Each runs a case of
// tests/programs/ids.cpp.
#include <gtest/gtest.h>
#include <unistd.h>

#include <string>

#include "child.hpp"
#include "weft_test.hpp"

namespace {

// With slices of the usual length, and so short that threads are stopped all the time.
void expect_ok(const std::string& name) {
  for (const char* how : {"", "slice=200"}) {
    weft_test::child_result r = weft_test::run_program("ids", {name}, {std::string("WEFTDEBUG=") + how});
    EXPECT_EQ(r.exit_status, 0) << how << '\n' << r;
    EXPECT_EQ(r.out, "OK\n") << how << '\n' << r;
  }
}

bool is_root() { return getuid() == 0 && getgid() == 0; }

TEST(syscall_test, TestAllThreadsSyscall) {
  if (!is_root()) GTEST_SKIP() << "only root may change its group";
  expect_ok("all_threads");
}

TEST(syscall_test, TestSetuidEtc) {   // and TestAllThreadsSyscallError: the calls that fail
  if (!is_root()) GTEST_SKIP() << "only root may change its user";
  expect_ok("setuid_etc");
}

TEST(syscall_test, TestAllThreadsSyscallBlockedSyscall) { expect_ok("blocked_syscall"); }

}  // namespace
