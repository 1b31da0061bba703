// crash_test.cpp — Go's runtime/crash_test.go restated: deadlocks, Goexit, panics, limits. Each runs a case
// of tests/programs/crash.cpp and looks at its last words.
#include <gtest/gtest.h>
#include <signal.h>

#include <exception>
#include <regex>

#include "child.hpp"
#include "weft/go.hpp"
#include "weft_test.hpp"

namespace {

using weft_test::child_result;
using weft_test::goroutines_in;
using weft_test::run_program;

constexpr char all_asleep[] = "fatal error: all goroutines are asleep - deadlock!\n";
constexpr char main_exited[] = "fatal error: no goroutines (main called runtime.Goexit) - deadlock!\n";

child_result crash(const std::string& name) { return run_program("crash", {name}); }

void expect_start(const child_result& r, const std::string& start) {
  EXPECT_EQ(r.exit_status, 2) << r;
  EXPECT_EQ(r.err.substr(0, start.size()), start) << r;
}

void expect_in(const child_result& r, const std::string& text) {
  EXPECT_NE(r.err.find(text), r.err.npos) << "wanted: " << text << '\n' << r;
}

// ---- deadlocks ----

TEST(crash_test, TestSimpleDeadlock) {
  child_result r = crash("simple_deadlock");
  expect_start(r, std::string(all_asleep) + "\ngoroutine 1 [chan receive]:\n");
}

TEST(crash_test, TestInitDeadlock) { expect_start(run_program("init_deadlock"), all_asleep); }

TEST(crash_test, TestLockedDeadlock) {
  child_result r = crash("locked_deadlock");
  expect_start(r, all_asleep);
  expect_in(r, ", locked to thread]:");
}

TEST(crash_test, TestLockedDeadlock2) { expect_start(crash("locked_deadlock_2"), all_asleep); }

// Not Go's: a thread on its way out is not taken for a foreign one that might still send.
TEST(crash_test, DeadlockAfterLocked) {
  for (int i = 0; i < 10; ++i) expect_start(crash("deadlock_after_locked"), all_asleep);
}

// Not Go's: while a foreign thread runs it might still send; sysmon looks when all has been quiet for long.
TEST(crash_test, DeadlockAfterAThread) { expect_start(crash("deadlock_after_thread"), all_asleep); }

TEST(crash_test, MutexDeadlock) {   // not Go's: a lock instead of a channel
  child_result r = crash("mutex_deadlock");
  expect_start(r, all_asleep);
  expect_in(r, "goroutine 1 [sync.Mutex.Lock]:");
}

// ---- Goexit ----

TEST(crash_test, TestGoexitDeadlock) { expect_start(crash("goexit_deadlock"), main_exited); }
TEST(crash_test, TestGoexitCrash) { expect_start(crash("goexit_crash"), main_exited); }
TEST(crash_test, TestGoexitInPanic) { expect_start(crash("goexit_in_panic"), main_exited); }
TEST(crash_test, TestRecoveredPanicAfterGoexit) {
  expect_start(crash("recovered_panic_after_goexit"), main_exited);
}
TEST(crash_test, TestRecoverBeforePanicAfterGoexit) {
  expect_start(crash("recover_before_panic_after_goexit"), main_exited);
}
TEST(crash_test, TestPanicAfterGoexit) {
  expect_start(crash("panic_after_goexit"), "panic: std::runtime_error: hello\n");
}

TEST(crash_test, TestGoexitDefer) {   // destructors run, and see no exception to handle
  weft_test::with_procs(1, [] {
    bool ended = false, saw_exception = true;
    struct deferred {
      bool *ended, *saw_exception;
      ~deferred() {
        *ended = true;
        *saw_exception = std::current_exception() != nullptr;
      }
    };
    weft_test::flag done;
    weft::go([&] {
      struct at_end {
        weft_test::flag& f;
        ~at_end() { f.set(); }
      } tell{done};
      deferred d{&ended, &saw_exception};
      weft::this_goroutine::exit();
    });
    done.wait_in_goroutine();
    EXPECT_TRUE(ended);
    EXPECT_FALSE(saw_exception);
  });
}

TEST(crash_test, ExitFromNoexcept) {   // C++ only
  expect_start(crash("exit_from_noexcept"), "panic: (weft::v0::goroutine_exit)\n");
}

// ---- panics: a chain of nested exceptions stands for Go's chain of panics ----

TEST(crash_test, TestRecursivePanic) {
  expect_start(crash("nested_panic"),
               "panic: std::runtime_error: first\n\tpanic: std::logic_error: second\n"
               "\tpanic: std::out_of_range: third\n\ngoroutine 1 [running]:\n");
}

TEST(crash_test, TestRepanickedPanic) {   // printed once
  child_result r = crash("repanicked");
  expect_start(r, "panic: std::runtime_error: message\n\ngoroutine 1 [running]:\n");
}

TEST(crash_test, TestDoublePanic) {   // C++ finds no handler before it unwinds: the second never happens
  child_result r = crash("double_panic");
  expect_start(r, "panic: std::runtime_error: XXX\n\n");
}

TEST(crash_test, TestPanicValues) {
  expect_start(crash("panic_of_int"), "panic: int(42)\n");
  expect_start(crash("panic_of_text"), "panic: plain text\n");
  expect_start(crash("panic_of_own_type"), "panic: ((anonymous namespace)::own_type)\n");
  expect_start(crash("panic_after_terminate"), "panic: std::terminate called without an active exception\n");
}

TEST(crash_test, TestPanicTraceback) {   // the throwing frames are there
  child_result r = crash("panic_in_goroutine");
  expect_start(r, "panic: std::runtime_error: oops\n\n");
  auto all = goroutines_in(r.err, false);
  ASSERT_EQ(all.size(), 2u) << r;
  EXPECT_EQ(all[0].status, "running");
  EXPECT_EQ(all[1].id, "1") << r;
}

TEST(crash_test, TestPanicWhilePanicking) {
  child_result r = crash("panic_while_panicking");
  EXPECT_EQ(r.exit_status, 2) << r;
  expect_in(r, "panic: std::runtime_error: again\n");
}

TEST(crash_test, TestPanicDeadlockGosched) {
  child_result r = crash("panic_text_yields");
  EXPECT_EQ(r.exit_status, 2) << r;
  expect_in(r, "yielding_error: 1\n2\n3\n4\n5\n\n");
}

TEST(crash_test, TestPanicDeadlockSyscall) {
  child_result r = crash("panic_text_writes");
  EXPECT_EQ(r.out, "written\n");
  EXPECT_EQ(r.exit_status, 2) << r;
  expect_in(r, "writing_error: 1\n2\n\n");
}

TEST(crash_test, TestPanicRace) {   // main returns while another goroutine dies
  for (int i = 0; i < weft_test::scaled(20, 3); ++i) {
    child_result r = crash("panic_race");
    ASSERT_EQ(r.exit_status, 2) << r;
    expect_in(r, "panic: std::runtime_error: crash\n");
    EXPECT_EQ(r.out, "") << r;
  }
}

TEST(crash_test, TestRuntimePanicWithRuntimeError) {
  expect_start(crash("send_on_closed"), "panic: weft::v0::channel_closed: send on closed channel\n");
  expect_start(crash("close_of_nil"), "panic: std::logic_error: close of nil channel\n");
  expect_start(crash("close_of_closed"), "panic: std::logic_error: close of closed channel\n");
  expect_start(crash("negative_wait_group"), "panic: std::logic_error: sync: negative WaitGroup counter\n");
  expect_start(crash("unlock_of_unlocked"), "fatal error: sync: unlock of unlocked mutex\n");
}

TEST(crash_test, TestGoNil) { expect_in(crash("go_nil"), "go of nil func value"); }

TEST(crash_test, TestMainGoroutineID) {
  expect_start(crash("panic"), "panic: std::runtime_error: oops\n\ngoroutine 1 [running]:\n");
}

TEST(crash_test, TestNoHelperGoroutines) {
  child_result r = crash("after_timer");
  auto all = goroutines_in(r.err, false);
  ASSERT_EQ(all.size(), 1u) << r;
  EXPECT_EQ(all[0].id, "1");
}

TEST(crash_test, UsersTerminateHandler) {   // runs after the dump
  child_result r = crash("users_handler");
  EXPECT_EQ(r.exit_status, 42) << r;
  EXPECT_LT(r.err.find("goroutine 1 [running]:"), r.err.find("the user's terminate handler")) << r;
}

// ---- limits ----

TEST(crash_test, TestStackOverflow) {
  for (const char* name : {"stack_overflow", "stack_overflow_in_main"}) {
    child_result r = crash(name);
    EXPECT_EQ(r.exit_status, 2) << r;
    static const std::regex text(
        "runtime: goroutine stack exceeds [0-9]+-byte limit\n"
        "runtime: sp=0x[0-9a-f]+ stack=\\[0x[0-9a-f]+, 0x[0-9a-f]+\\]\n"
        "fatal error: stack overflow\n\ngoroutine [0-9]+ \\[running\\]:\n");
    EXPECT_TRUE(std::regex_search(r.err, text, std::regex_constants::match_continuous)) << r;
    expect_in(r, " frames elided...");
  }
}

TEST(crash_test, TestG0StackOverflow) {
  child_result r = run_program("g0_overflow");
  EXPECT_EQ(r.exit_status, 2) << r;
  expect_in(r, "fatal error: stack overflow on g0\n");
}

TEST(crash_test, TestThreadExhaustion) {
  expect_start(crash("thread_exhaustion"),
               "runtime: program exceeds 10-thread limit\nfatal error: thread exhaustion\n");
}

// ---- signals that end the process ----

TEST(crash_test, TestSignalExitStatus) {
  child_result r = run_program("crash", {.arguments = {"sleeper"}, .signal_when = SIGTERM});
  EXPECT_EQ(r.signal, SIGTERM) << r;
}

TEST(crash_test, TestSigquit) {   // crash_unix_test.go: all goroutines, status 2
  // On one P the other goroutine is parked before "ready" comes.
  child_result r = run_program(
      "crash", {.arguments = {"sleeper"}, .environment = {"WEFT_MAXPROCS=1"}, .signal_when = SIGQUIT});
  EXPECT_EQ(r.exit_status, 2) << r;
  static const std::regex text("SIGQUIT: quit\nPC=0x[0-9a-f]+ m=[0-9nil]+ sigcode=-?[0-9]+\n");
  EXPECT_TRUE(std::regex_search(r.err, text, std::regex_constants::match_continuous)) << r;
  expect_in(r, "goroutine 1 [");
  expect_in(r, "[chan receive (nil chan), \"parked\"]:");
}

// A terminal sends it to the whole group: the process that looks for names gets it too, while it is still a
// copy of ours.
TEST(crash, SigquitToTheGroupAgainAndAgain) {
  for (int i = 0; i < weft_test::scaled(5, 2); ++i) {
    const child_result r =
        run_program("crash", {.arguments = {"sleeper"}, .signal_when = SIGQUIT, .signal_group = true});
    EXPECT_EQ(r.exit_status, 2) << r;
    EXPECT_FALSE(r.timed_out);
  }
}

}  // namespace
