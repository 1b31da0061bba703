// stacks_test.cpp — a crash, SIGQUIT and a dump show what every goroutine does, on whatever thread.
#include <gtest/gtest.h>
#include <signal.h>

#include <filesystem>
#include <string>

#include "support/child.hpp"
#include "support/weft_test.hpp"

namespace {

using weft_test::child_result;
using weft_test::dumped_goroutine;

bool have_names() { return std::filesystem::exists(WEFT_BINARY_DIR "/libexec/weft-symbolizer"); }

child_result stacks(const std::string& how, int procs = 2) {
  return weft_test::run_program(
      "stacks", {how}, {"WEFT_MAXPROCS=" + std::to_string(procs), "WEFTDEBUG=slice=200"});
}

// Of that name in the dump; their status without it.
std::vector<dumped_goroutine> named(const child_result& r, const std::string& name, bool symbolized) {
  std::vector<dumped_goroutine> found;
  for (dumped_goroutine& g : weft_test::goroutines_in(r.err, symbolized)) {
    const std::size_t at = g.status.find(", \"" + name + "\"");
    if (at == std::string::npos) continue;
    g.status.resize(at);
    found.push_back(std::move(g));
  }
  return found;
}

// True: one of the loops is stopped by the signal.
bool expect_all(const child_result& r) {
  if (weft_test::under_tsan) return true;            // no signals: no stacks
  const auto loops = named(r, "loop", false), blocked = named(r, "blocked", false);
  const auto deaf = named(r, "deaf", false), parked = named(r, "parked", false);
  EXPECT_EQ(loops.size(), 3u) << r;
  EXPECT_EQ(blocked.size() + deaf.size() + parked.size(), 3u) << r;
  bool one_is_stopped = false;
  if (blocked.empty() || deaf.empty() || parked.empty()) return false;
  for (const auto& g : loops) {
    EXPECT_EQ(g.body.find("unavailable"), g.body.npos) << r;
    EXPECT_NE(g.body.find("\t0x"), g.body.npos) << r;
    one_is_stopped |= g.status == "runnable, interrupted on its thread";
    EXPECT_TRUE(g.status == "running" || g.status == "runnable, interrupted on its thread") << g.status;
  }
  EXPECT_NE(deaf[0].body.find("stack unavailable"), std::string::npos) << r;
  EXPECT_EQ(parked[0].status, "chan receive");
  if (!have_names()) return one_is_stopped;
  for (const auto& g : named(r, "loop", true)) EXPECT_NE(g.body.find("computes"), g.body.npos) << r;
  EXPECT_NE(named(r, "blocked", true)[0].body.find("blocks_in_read"), std::string::npos) << r;
  EXPECT_NE(named(r, "parked", true)[0].body.find("parks"), std::string::npos) << r;
  return one_is_stopped;
}

}  // namespace

TEST(stacks, OfAllAtACrash) {
  struct { const char* how; int signal; const char* text; } const all[] = {
      {"segv", SIGSEGV, "SIGSEGV: segmentation violation\nPC=0x"},
      {"sent_segv", SIGSEGV, "SIGSEGV: segmentation violation\nPC=0x"},
      {"abort", SIGABRT, "SIGABRT: abort\nPC=0x"},
      {"ill", SIGILL, "SIGILL: illegal instruction\nPC=0x"},
      {"fpe", SIGFPE, "SIGFPE: floating-point exception\nPC=0x"}};
  if (weft_test::slowdown > 1) GTEST_SKIP() << "the sanitizer has handlers of its own";
  for (auto& c : all) {
    const child_result r = stacks(c.how);
    EXPECT_EQ(r.signal, c.signal) << c.how << '\n' << r;
    EXPECT_EQ(r.err.find(c.text), 0u) << c.how << '\n' << r;
    expect_all(r);
  }
}

TEST(stacks, OfAllAtSigquit) {
  bool one_is_stopped = false;
  for (int procs : {1, 1, 1, 2, 4, 8}) {
    const child_result r = stacks("quit", procs);
    EXPECT_EQ(r.exit_status, 2) << r;
    EXPECT_EQ(r.err.find("SIGQUIT: quit\nPC=0x"), 0u) << r;
    one_is_stopped |= expect_all(r);
  }
  for (int tries = 0; !one_is_stopped && tries < 20; ++tries) one_is_stopped = expect_all(stacks("quit", 1));
  EXPECT_TRUE(one_is_stopped);
}

TEST(stacks, OfAllAtAnException) {
  const child_result r = stacks("throw");
  EXPECT_EQ(r.exit_status, 2) << r;
  expect_all(r);
}

TEST(stacks, OfAProgramThatGoesOn) {
  for (int procs : {1, 2, 4, 8}) {
    const child_result r = stacks("dump", procs);
    EXPECT_EQ(r.exit_status, 0) << r;
    EXPECT_EQ(r.out, "returned\n");
    expect_all(r);
  }
}

TEST(stacks, HandlersOfTheProgram) {
  EXPECT_EQ(stacks("users").exit_status, 5);
  if (weft_test::slowdown > 1) return;
  const child_result aborts = stacks("terminate_aborts");
  EXPECT_EQ(aborts.signal, SIGABRT) << aborts;
  EXPECT_EQ(aborts.err.find("SIGABRT"), aborts.err.npos) << aborts;
  const child_result after = stacks("after_world");  // nothing to show
  EXPECT_EQ(after.signal, SIGSEGV) << after;
  EXPECT_EQ(after.err, "");
}
