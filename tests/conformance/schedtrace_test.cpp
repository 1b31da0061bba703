// schedtrace_test.cpp — WEFTDEBUG=schedtrace: each line has Go's shape, and the numbers are possible.
#include <gtest/gtest.h>

#include <regex>
#include <sstream>

#include "child.hpp"

namespace {

using weft_test::child_result;
using weft_test::run_program;

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> all;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) all.push_back(line);
  return all;
}

TEST(schedtrace_test, Lines) {
  child_result r = run_program("schedtrace", {}, {"WEFTDEBUG=schedtrace=20"});
  ASSERT_EQ(r.exit_status, 0) << r;
  static const std::regex shape(
      "SCHED ([0-9]+)ms: gomaxprocs=2 idleprocs=([0-9]+) threads=([0-9]+) spinningthreads=[0-9]+ "
      "needspinning=[01] "
      "idlethreads=([0-9]+) runqueue=[0-9]+ \\[ [0-9]+ [0-9]+ \\] schedticks=\\[ [0-9]+ [0-9]+ \\]");
  auto lines = lines_of(r.err);
  EXPECT_GE(lines.size(), 2u) << r;   // 25 on an idle machine
  int last = -1;
  for (const std::string& line : lines) {
    std::smatch m;
    ASSERT_TRUE(std::regex_match(line, m, shape)) << line;
    EXPECT_GE(std::stoi(m[1]), last) << line;
    last = std::stoi(m[1]);
    EXPECT_LE(std::stoi(m[2]), 2) << line;
    EXPECT_LT(std::stoi(m[4]), std::stoi(m[3])) << line;
  }
  EXPECT_EQ(lines[0].find("SCHED 0ms: "), 0u) << "counted from the first line";
}

TEST(schedtrace_test, Details) {
  child_result r = run_program("schedtrace", {}, {"WEFTDEBUG=schedtrace=100,scheddetail=1"});
  ASSERT_EQ(r.exit_status, 0) << r;
  static const std::regex first(
      "SCHED [0-9]+ms: gomaxprocs=2 idleprocs=[0-9]+ threads=[0-9]+ spinningthreads=[0-9]+ needspinning=[01] "
      "idlethreads=[0-9]+ runqueue=[0-9]+ gcwaiting=(true|false) nmidlelocked=[0-9]+ stopwait=[0-9]+ "
      "sysmonwait=(true|false)");
  static const std::regex p(
      "  P[01]: status=[0134] schedtick=[0-9]+ syscalltick=[0-9]+ m=([0-9]+|nil) runqsize=[0-9]+ "
      "gfreecnt=[0-9]+ "
      "timerslen=[0-9]+");
  static const std::regex m(
      "  M[0-9]+: p=([0-9]+|nil) curg=([0-9]+|nil) mallocing=0 throwing=0 preemptoff= locks=0 dying=0 "
      "spinning=(true|false) blocked=(true|false) lockedg=([0-9]+|nil)");
  static const std::regex g(
      "  G[0-9]+: status=[0-9]+\\([^)]*(\\([^)]*\\))?\\) m=([0-9]+|nil) lockedm=([0-9]+|nil)");
  int firsts = 0, ps = 0, ms = 0, gs = 0;
  for (const std::string& line : lines_of(r.err)) {
    bool is_first = std::regex_match(line, first), is_p = std::regex_match(line, p);
    bool is_m = std::regex_match(line, m), is_g = std::regex_match(line, g);
    EXPECT_EQ(is_first + is_p + is_m + is_g, 1) << line;
    firsts += is_first;
    ps += is_p;
    ms += is_m;
    gs += is_g;
  }
  EXPECT_GE(firsts, 1) << r;
  EXPECT_EQ(ps, 2 * firsts);
  EXPECT_GE(ms, firsts);
  EXPECT_GE(gs, firsts);
  EXPECT_NE(r.err.find("=4(chan receive) m=nil"), r.err.npos) << r;
}

// Go's runtime/metrics_test.go, as far as schedtrace with details tells the same.
TEST(schedtrace_test, TestReadMetricsSched) {
  child_result r = run_program("schedmetrics");
  EXPECT_EQ(r.exit_status, 0) << r;
  EXPECT_EQ(r.out, "OK\n") << r;
}

TEST(schedtrace_test, OffByDefault) { EXPECT_EQ(run_program("schedtrace").err, ""); }

}  // namespace
