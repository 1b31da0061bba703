// traceback_test.cpp — Go's runtime/traceback_test.go restated: what a dump looks like.
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <filesystem>
#include <regex>

#include "child.hpp"
#include "weft_test.hpp"

namespace {

using weft_test::child_result;
using weft_test::dumped_goroutine;
using weft_test::goroutines_in;
using weft_test::run_program;

child_result crash(const std::string& name, std::vector<std::string> environment = {}) {
  return run_program("crash", {name}, std::move(environment));
}

// Names come from a program that is built only where libdw is.
bool have_symbolizer() { return std::filesystem::exists(WEFT_BINARY_DIR "/libexec/weft-symbolizer"); }

const dumped_goroutine* with_status(const std::vector<dumped_goroutine>& all, const std::string& status) {
  auto at = std::find_if(all.begin(), all.end(), [&](auto& g) { return g.status == status; });
  return at == all.end() ? nullptr : &*at;
}

std::size_t count(const std::string& text, const std::regex& what) {
  return static_cast<std::size_t>(
      std::distance(std::sregex_iterator(text.begin(), text.end(), what), std::sregex_iterator()));
}

TEST(traceback_test, TestTracebackParentChildGoroutines) {
  // One processor: the grandchild begins when the child has parked.
  child_result r = crash("parent_child", {"WEFT_MAXPROCS=1"});
  auto all = goroutines_in(r.err, false);
  ASSERT_EQ(all.size(), 3u) << r;
  auto* child = with_status(all, "chan receive (nil chan), \"child\"");
  ASSERT_TRUE(child) << r;
  EXPECT_NE(child->body.find("created by goroutine 1 at 0x"), std::string::npos) << r;
  EXPECT_NE(all[0].body.find("created by goroutine " + child->id + " at 0x"), std::string::npos) << r;
  EXPECT_EQ(all[1].body.find("created by"), std::string::npos) << "main is created by nobody" << r;
}

TEST(traceback_test, CreatedByNamesTheFunction) {
  if (!have_symbolizer()) GTEST_SKIP() << "no libdw";
  // One processor: the grandchild begins when the child has parked.
  child_result r = crash("parent_child", {"WEFT_MAXPROCS=1"});
  auto all = goroutines_in(r.err, true);
  auto* child = with_status(all, "chan receive (nil chan), \"child\"");
  ASSERT_TRUE(child) << r;
  static const std::regex created(
      "created by [^\n]*parent_child[^\n]* in goroutine 1\n\t[^\n]*crash.cpp:[0-9]+ \\+0x");
  EXPECT_TRUE(std::regex_search(child->body, created)) << r;
}

// 50 innermost, 50 outermost, and how many are left out.
TEST(traceback_test, TestTracebackElision) {
  child_result r = crash("elision");
  auto all = goroutines_in(r.err, false);
  ASSERT_EQ(all.size(), 1u) << r;
  static const std::regex frame("\n\t0x[0-9a-f]+ /[^\n]+\\+0x[0-9a-f]+"),
      elided("\n\t\\.\\.\\.([0-9]+) frames elided\\.\\.\\.\n");
  const std::string body = "\n" + all[0].body;
  EXPECT_EQ(count(body, frame), 100u) << r;
  std::smatch m;
  ASSERT_TRUE(std::regex_search(body, m, elided)) << r;
  EXPECT_EQ(count(m.prefix().str() + "\n", frame), 50u);
  EXPECT_GE(std::stoi(m[1]), 200 - 100);
}

TEST(traceback_test, TestTracebackGoroutineLabels) {   // ours: the name from attrs
  // One processor: the grandchild begins when the child has parked.
  child_result r = crash("parent_child", {"WEFT_MAXPROCS=1"});
  EXPECT_NE(r.err.find(" [running, \"grandchild\"]:\n"), r.err.npos) << r;
}

TEST(traceback_test, TestTracebackSystem) {   // WEFT_TRACEBACK=system: gp, m, mp; runtime frames with names
  // On one P the main goroutine is parked when the other one dies.
  child_result r = crash("panic_in_goroutine", {"WEFT_TRACEBACK=system", "WEFT_MAXPROCS=1"});
  EXPECT_EQ(r.exit_status, 2) << r;
  static const std::regex header(
      "\ngoroutine [0-9]+ gp=0x[0-9a-f]+ m=[0-9]+ mp=0x[0-9a-f]+ \\[running\\]:\n");
  EXPECT_TRUE(std::regex_search(r.err, header)) << r;
  static const std::regex parked("\ngoroutine 1 gp=0x[0-9a-f]+ m=nil \\[");
  EXPECT_TRUE(std::regex_search(r.err, parked)) << r;
  if (have_symbolizer()) {
    EXPECT_NE(r.err.find("weft::v0::rt::park"), r.err.npos) << r;
  }
}

TEST(traceback_test, TracebackLevels) {
  EXPECT_EQ(goroutines_in(crash("panic_in_goroutine", {"WEFT_TRACEBACK=none"}).err, false).size(), 0u);
  EXPECT_EQ(goroutines_in(crash("panic_in_goroutine", {"WEFT_TRACEBACK=single"}).err, false).size(), 1u);
  EXPECT_EQ(goroutines_in(crash("panic_in_goroutine", {"WEFT_TRACEBACK=all"}).err, false).size(), 2u);
  EXPECT_EQ(crash("panic_in_goroutine", {"WEFT_TRACEBACK=crash"}).signal, SIGABRT);
}

TEST(traceback_test, TestTracebackInlined) {
  if (!have_symbolizer()) GTEST_SKIP() << "no libdw";
  child_result r = crash("inlined");
  auto all = goroutines_in(r.err, true);
  ASSERT_EQ(all.size(), 1u) << r;
  static const std::regex frames(
      "panic\\(\\.\\.\\.\\)\n\t[^\n]+\n[^\n]*inlined_thrower[^\n]*\n\t[^\n]*crash.cpp:[0-9]+ "
      "[^\n]*\n[^\n]*inlined");
  EXPECT_TRUE(std::regex_search(all[0].body, frames)) << r;
}

TEST(traceback_test, TestPanicInlined) {   // the runtime's own frames and the unwinder's are not shown
  if (!have_symbolizer()) GTEST_SKIP() << "no libdw";
  child_result r = crash("panic");
  auto all = goroutines_in(r.err, true);
  ASSERT_EQ(all.size(), 1u) << r;
  EXPECT_EQ(all[0].body.find("panic(...)\n"), 0u) << r;
  EXPECT_EQ(all[0].body.find("weft::v0::rt"), std::string::npos) << r;
  EXPECT_EQ(all[0].body.find("terminate"), std::string::npos) << r;
}

TEST(traceback_test, WithoutSymbolizer) {   // the raw dump is all there is, and enough for addr2line
  child_result r = crash("panic", {"WEFT_SYMBOLIZE=off"});
  EXPECT_EQ(r.exit_status, 2) << r;
  EXPECT_EQ(r.err.find("symbolized:"), r.err.npos) << r;
  static const std::regex frame("\n\t0x[0-9a-f]+ /[^\n]*program_crash\\+0x[0-9a-f]+\n");
  EXPECT_TRUE(std::regex_search(r.err, frame)) << r;
}

TEST(traceback_test, BrokenSymbolizer) {   // status and raw dump do not depend on it
  child_result r = crash("panic", {"WEFT_SYMBOLIZE=/bin/false"});
  EXPECT_EQ(r.exit_status, 2) << r;
  EXPECT_NE(r.err.find("goroutine 1 [running]:\n"), r.err.npos) << r;
  EXPECT_NE(r.err.find("weft-symbolizer failed"), r.err.npos) << r;
}

TEST(traceback_test, OnlySoMany) {   // the 1,000 oldest
  child_result r = crash("many_deadlock");
  auto all = goroutines_in(r.err, false);
  EXPECT_EQ(all.size(), 1000u);
  EXPECT_EQ(all[0].id, "1");
  EXPECT_TRUE(std::is_sorted(all.begin(), all.end(),
                             [](auto& a, auto& b) { return std::stoi(a.id) < std::stoi(b.id); }));
  EXPECT_NE(r.err.find("\n...501 more goroutines elided...\n"), r.err.npos);
}

}  // namespace
