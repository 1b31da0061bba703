// check_test.cpp — a fatal end says why, dumps once, and comes with its status whatever the dump does.
#include "base/check.hpp"

#include <gtest/gtest.h>
#include <signal.h>

#include <thread>
#include <vector>

#include "base/print.hpp"
#include "os/os.hpp"
#include "support/weft_test.hpp"

namespace {

using namespace weft::rt;

// The child starts afresh: the test program may have threads.
struct check_death : testing::Test {
  check_death() { GTEST_FLAG_SET(death_test_style, "threadsafe"); }
};

TEST_F(check_death, says_what_failed_and_where) {
  EXPECT_EXIT(WEFT_CHECK(1 + 1 == 3), testing::ExitedWithCode(2),
              "fatal error: check failed: 1 \\+ 1 == 3 \\(.*check_test.cpp:[0-9]+\\)");
  WEFT_CHECK(1 + 1 == 2);
}

TEST_F(check_death, the_dump_follows_the_text) {
  EXPECT_EXIT(
      {
        set_dump_port([](const void*) noexcept { printer() << "the dump\n"; });
        fatal("no reason");
      },
      testing::ExitedWithCode(2), "fatal error: no reason\nthe dump\n");
}

TEST_F(check_death, a_longer_text_and_another_status) {
  EXPECT_EXIT(
      {
        begin_fatal();
        printer() << "line one\nline two\n";
        finish_fatal(7);
      },
      testing::ExitedWithCode(7), "line one\nline two\n");
}

TEST_F(check_death, a_dump_that_faults_or_fails_still_ends_with_the_status) {
  EXPECT_EXIT(
      {
        set_dump_port([](const void*) noexcept { raise(SIGSEGV); });
        fatal("faults");
      },
      testing::ExitedWithCode(2), "fatal error: faults");
  EXPECT_EXIT(
      {
        set_dump_port([](const void*) noexcept { fatal("again"); });
        fatal("fails");
      },
      testing::ExitedWithCode(2), "fatal error: fails");
}

TEST_F(check_death, also_inside_a_handler_for_the_same_signal) {
  EXPECT_EXIT(
      {
        set_dump_port([](const void*) noexcept { raise(SIGSEGV); });
        signal(SIGSEGV, [](int) { fatal("in the handler"); });
        raise(SIGSEGV);
      },
      testing::ExitedWithCode(2), "fatal error: in the handler");
}

TEST_F(check_death, a_dump_that_hangs_is_cut_off) {
  if (weft_test::under_tsan) GTEST_SKIP() << "TSan delivers a signal at the next intercepted call: never";
  EXPECT_EXIT(
      {
        set_dump_limit(200'000'000);
        signal(SIGALRM, SIG_IGN);   // the user's own setting is of no account
        set_dump_port([](const void*) noexcept { os::sleep_ns(os::forever); });
        fatal("hangs");
      },
      testing::ExitedWithCode(2), "fatal error: hangs");
}

TEST_F(check_death, many_at_once_die_once) {
  EXPECT_EXIT(
      {
        set_dump_port([](const void*) noexcept {
          os::sleep_ns(20'000'000);   // the others have time to interfere
          printer() << "dumped\n";
        });
        std::vector<std::thread> threads;
        for (int i = 0; i < 8; ++i) threads.emplace_back([] { fatal("race"); });
        fatal("race");
      },
      testing::ExitedWithCode(2), "^fatal error: race\ndumped\n$");
}

TEST_F(check_death, crash_leaves_a_core) {
  EXPECT_EXIT(
      {
        set_crash_on_fatal(true);
        fatal("crash");
      },
      testing::KilledBySignal(SIGABRT), "fatal error: crash");
}

}  // namespace
