// blockwarn_test.cpp — WEFTDEBUG=blockwarn=1 names the call that blocked a thread, if nobody announced it.
#include <gtest/gtest.h>

#include <regex>
#include <utility>
#include <vector>

#include "sched/block_warning.hpp"
#include "sched/ports.hpp"
#include "support/child.hpp"

namespace rt = weft::rt;
using weft_test::child_result;
using weft_test::run_program;

TEST(blockwarn, NamesTheCall) {
  const child_result r = run_program("blockwarn", {}, {"WEFTDEBUG=blockwarn=1"});
  EXPECT_EQ(r.exit_status, 0) << r;
  static const std::regex line("weft: goroutine [1-9][0-9]* blocked its thread in read "
                               "at 0x[0-9a-f]+ /[^ ]+\\+0x[0-9a-f]+"
                               "( \\(and [0-9]+ times more\\))?\n");
  EXPECT_TRUE(std::regex_search(r.err, line)) << r;
  EXPECT_EQ(r.err.find("nanosleep"), std::string::npos) << r;
}

TEST(blockwarn, SilentUnlessAsked) {
  const child_result r = run_program("blockwarn");
  EXPECT_EQ(r.exit_status, 0) << r;
  EXPECT_EQ(r.err, "");
}

// One line a second for a place, with the number of the others; what finds no room is counted.
TEST(blockwarn, AtMostALineASecond) {
  // The helper, which another test may have started, shall not take them.
  auto* const printing = std::exchange(rt::ports.print_block_warnings, nullptr);
  constexpr std::int64_t second = 1'000'000'000;
  static const char code[100] = {};
  rt::block_warning w{.goroutine = 7, .call = 1, .pc = &code[0]}, got;
  for (int i = 0; i < 5; ++i) rt::note_block(w, 10 * second + i);
  ASSERT_TRUE(rt::next_block_warning(got));
  EXPECT_EQ(got.goroutine, 7u);
  EXPECT_EQ(got.not_told, 0u);
  EXPECT_FALSE(rt::next_block_warning(got));
  rt::note_block(w, 11 * second);
  ASSERT_TRUE(rt::next_block_warning(got));
  EXPECT_EQ(got.not_told, 4u);
  for (int i = 0; i < 20; ++i) {
    w.pc = &code[i + 1];
    rt::note_block(w, 11 * second);
  }
  int n = 0;
  while (rt::next_block_warning(got)) ++n;
  EXPECT_EQ(n, 16);
  EXPECT_EQ(rt::take_lost_warnings(), 4u);
  rt::ports.print_block_warnings = printing;
}
