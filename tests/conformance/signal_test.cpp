// signal_test.cpp — Go's runtime/crash_unix_test.go and what else it asks about signals, restated. Most run a
// case of tests/programs/signals.cpp.
#include <errno.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/syscall.h>

#include <string>

#include "child.hpp"
#include "os/linux/syscall.hpp"
#include "weft_test.hpp"

namespace {

using weft_test::child_result;
using weft_test::run_program;

void expect_ok(const std::string& name, const std::string& debug) {
  child_result r = run_program("signals", {name}, {"WEFTDEBUG=" + debug});
  EXPECT_EQ(r.exit_status, 0) << debug << '\n' << r;
  EXPECT_EQ(r.out, "OK\n") << debug << '\n' << r;
}

// With slices of the usual length, and so short that everything is interrupted.
void expect_ok(const std::string& name) {
  expect_ok(name, "");
  expect_ok(name, "slice=200");
}

TEST(signal_test, TestSignalM) {
  // GCC 12's: on a plain thread that sleeps again and again one in a hundred does not come, in read() none.
  if (weft_test::under_tsan) GTEST_SKIP() << "TSan keeps signals back, some for ever, without Weft too";
  expect_ok("signal_m", "asyncpreemptoff=1");
  expect_ok("signal_m_in_call", "asyncpreemptoff=1");
}
TEST(signal_test, TestSignalIgnoreSIGTRAP) { expect_ok("ignore_sigtrap"); }
TEST(signal_test, TestEINTR) { expect_ok("eintr"); }
TEST(signal_test, TestRaceSignal) { expect_ok("race_signal"); }
TEST(signal_test, NoEINTR) { expect_ok("no_eintr"); }

// Go's: the raw calls return -errno; ours are those of src/os/.
TEST(signal_test, TestBadOpen) {
  using weft::rt::os::system_call;
  EXPECT_EQ(system_call(SYS_openat, AT_FDCWD, "/no such file", O_RDONLY), -ENOENT);
  char buffer[32] = {};
  EXPECT_EQ(system_call(SYS_read, -1, &buffer[0], sizeof buffer), -EBADF);
  EXPECT_EQ(system_call(SYS_write, -1, &buffer[0], sizeof buffer), -EBADF);
  EXPECT_EQ(system_call(SYS_close, -1), -EBADF);
}

// Part of Go's: four loops on four threads are all in the dump; but the stack of one that computes on another
// thread is not shown.
TEST(signal_test, TestCrashDumpsAllThreads) {
  child_result r = run_program("preempt", {.arguments = {"spinners"}, .signal_when = SIGQUIT});
  EXPECT_EQ(r.exit_status, 2) << r;
  EXPECT_EQ(r.err.substr(0, 14), "SIGQUIT: quit\n") << r;
  int spinners = 0;
  for (auto& g : weft_test::goroutines_in(r.err, false)) {
    if (g.status.find("\"spinner\"") == g.status.npos) continue;
    ++spinners;
    EXPECT_TRUE(g.status.starts_with("running") || g.status.starts_with("runnable")) << r;
  }
  EXPECT_EQ(spinners, 4) << r;
}

}  // namespace
