// race_reported_test.cpp — the wrong programs of Go's runtime/race/testdata: ThreadSanitizer reports races
// between goroutines, wherever they run. tests/programs/race.cpp has the programs.
#include <string>

#include "support/child.hpp"
#include "support/weft_test.hpp"

namespace {

weft_test::child_result race(const std::string& program) { return weft_test::run_program("race", {program}); }

void expect_report(const std::string& program) {
  if (!weft_test::under_tsan) GTEST_SKIP() << "a ThreadSanitizer build looks for races";
  for (const char* procs : {"WEFT_MAXPROCS=1", "WEFT_MAXPROCS=4"}) {
    weft_test::child_result r = weft_test::run_program("race", {program}, {procs});
    EXPECT_NE(r.err.find("WARNING: ThreadSanitizer: data race"), r.err.npos) << procs << "\n" << r;
    EXPECT_NE(r.exit_status, 0) << procs;
  }
}

TEST(race_reported, plain) { expect_report("plain"); }
TEST(race_reported, chan) { expect_report("chan"); }
TEST(race_reported, mutex) { expect_report("mutex"); }
TEST(race_reported, wait_group) { expect_report("wait_group"); }
TEST(race_reported, timer) { expect_report("timer"); }

TEST(race_reported, none) {   // every build: the program is right
  weft_test::child_result r = race("none");
  EXPECT_EQ(r.exit_status, 0) << r;
  EXPECT_EQ(r.err, "");
}

}  // namespace
