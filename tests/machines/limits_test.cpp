// limits_test.cpp — threads cannot be had, or not in time, or not so many.
#include <chrono>
#include <cstdlib>
#include <string>

#include "support/child.hpp"
#include "support/weft_test.hpp"

using weft_test::child_result;
using weft_test::run_program;

namespace {

#if defined(WEFT_TEST_ASAN) || defined(WEFT_TSAN) || defined(__SANITIZE_THREAD__)
constexpr bool interposed = false;                   // they have a pthread_create of their own
#else
constexpr bool interposed = true;
#endif

void expect_done(const std::string& program, const std::string& mode, int procs, int number,
                 const std::string& out) {
  const child_result r = run_program(program, {mode, std::to_string(procs), std::to_string(number)});
  EXPECT_EQ(r.exit_status, 0) << mode << ' ' << procs << ' ' << number << '\n' << r;
  EXPECT_EQ(r.out, out);
}

void expect_ends(const std::string& mode, int procs, int number) {
  expect_done("thread_creation", mode, procs, number, "done\ndone\n");
}

}  // namespace

TEST(limits, ThreadsAreRefusedAtRandom) {
  for (int procs : {1, 2, 8})
    for (int seed = 1; seed <= 4; ++seed) expect_ends("fails", procs, seed);
}

TEST(limits, ThreadsComeASecondLate) {
  for (int procs : {1, 2, 8}) expect_ends("hangs", procs, 10 + procs);
}

// The P does not stay with one loop until a thread comes: it goes to those that are stopped with theirs.
TEST(limits, LoopsShareThePWhileNoThreadComes) {
  const child_result r = run_program("late_threads", {"loops"});
  EXPECT_EQ(r.exit_status, 0) << r;
  EXPECT_GE(std::atoi(r.out.c_str()), 2) << r;
}

// The P is idle, but for want of a thread, so what has come back without a P does not have all CPUs.
TEST(limits, StraysShareThePWhileNoThreadComes) {
  if (!interposed) GTEST_SKIP();
  const child_result r = run_program("late_threads", {"strays"});
  EXPECT_EQ(r.exit_status, 0) << r;
  EXPECT_LE(std::atoi(r.out.c_str()), 150) << r;
}

// But not for ever, if there is no other thread.
TEST(limits, WhatHasNotBegunBeginsInTheEnd) {
  const child_result r = run_program("late_threads", {"begins"});
  EXPECT_EQ(r.exit_status, 0) << r;
  EXPECT_EQ(r.out, "10\n") << r;
}

// Nor longer the more there are.
TEST(limits, TheFirstOfManyBeginsSoon) {
  const child_result r = run_program("late_threads", {"many"});
  EXPECT_EQ(r.exit_status, 0) << r;
  EXPECT_LE(std::atoi(r.out.c_str()), 200) << r;     // 10; 700 when each was passed over 400 times
}

// The last M does not begin what may block it too: it stays free for the one that ticks.
TEST(limits, OneMStaysFreeWhileNoThreadComes) {
  if (!interposed) GTEST_SKIP();
  const child_result r = run_program("late_threads", {"ticks"});
  EXPECT_EQ(r.exit_status, 0) << r;
  EXPECT_GE(std::atoi(r.out.c_str()), 20) << r;
}

// With one M, or two, for everything.
TEST(limits, NoMoreThreads) {
  for (int procs : {1, 2, 8})
    for (int threads : {4, 5, 8}) expect_ends("dries", procs, threads);
}

TEST(limits, NotOneThread) {
  if (!interposed) GTEST_SKIP();
  const child_result r = run_program("thread_creation", {"dries", "2", "3"});
  EXPECT_EQ(r.exit_status, 2) << r;
  EXPECT_NE(r.err.find("fatal error: newosproc\n"), std::string::npos) << r;
}

// TestThreadExhaustion (conformance/crash_test.cpp) is the same with locked goroutines.
TEST(limits, BlockedBeyondTheLimit) {
  for (int procs : {1, 2, 8}) {
    const child_result r = run_program("thread_limit", {"blocked", std::to_string(procs), "10"});
    EXPECT_EQ(r.exit_status, 2) << r;
    const std::string text = "runtime: program exceeds 10-thread limit\nfatal error: thread exhaustion\n";
    EXPECT_TRUE(r.err.starts_with(text)) << r;
  }
}

// Nobody is in the poller, and the only thread does not come back. sysmon must not sleep for ever.
TEST(limits, ASleeperBehindABlockedCall) {
  const auto start = std::chrono::steady_clock::now();
  const child_result r = run_program("thread_limit", {"later", "1", "1"});
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  EXPECT_EQ(r.exit_status, 2) << r;
  EXPECT_NE(r.err.find("fatal error: thread exhaustion\n"), std::string::npos) << r;
  EXPECT_LT(took.count(), 2.5 + 2.5 * weft_test::slowdown);   // 2.7; sysmon may doze for 5 s
}

TEST(limits, ComputationsShareWhatThereIs) {
  for (int procs : {1, 2, 4, 8})
    for (int limit : {1, 2, 3, 8}) expect_done("thread_limit", "busy", procs, limit, "done\n");
}

// A P that was stopped goes back to its M, also if that is just about to lie down.
TEST(limits, StopsNeedNoThread) {
  for (int procs : {1, 2, 8})
    for (int limit : {1, 2, 8}) expect_done("thread_limit", "stops", procs, limit, "done\n");
}

// Two are blocked in turn, for a moment; one of them always comes.
TEST(limits, CallsThatAnswerEachOther) {
  for (int procs : {1, 2}) expect_done("thread_limit", "pipes", procs, 2, "done\n");
}

// The only thread is blocked, and nobody waits for it.
TEST(limits, OneBlockedCallAndNoWork) {
  for (int procs : {1, 2}) expect_done("thread_limit", "alone", procs, 1, "done\n");
}

// Nor is a timer due that has been disarmed.
TEST(limits, OneBlockedCallAndATimerThatWasStopped) {
  for (int procs : {1, 2}) expect_done("thread_limit", "stopped", procs, 1, "done\n");
}

TEST(limits, ComputationsBesideBlockedCalls) {
  for (int procs : {1, 2, 8}) expect_done("thread_limit", "mixed", procs, 8, "done\n");
}
