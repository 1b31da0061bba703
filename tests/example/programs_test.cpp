// programs_test.cpp — the small examples do what they say, and the bench knows its command line.
#include <gtest/gtest.h>

#include <string>

#include "shell.hpp"

namespace {

using namespace example_test;

outcome run(const std::string& program, const std::string& arguments = "") {
  const scratch here;
  return here.run("'" WEFT_BINARY_DIR "/" + program + "' " + arguments);
}

}  // namespace

TEST(example, hello) {
  const outcome o = run("examples/weft-hello");
  EXPECT_EQ(o.status, 0) << o.err;
  EXPECT_NE(o.out.find("hello from warp\n"), std::string::npos) << o.out;
  EXPECT_NE(o.out.find("hello from weft\n"), std::string::npos) << o.out;
  EXPECT_NE(o.out.find("the answer is 42\n"), std::string::npos) << o.out;
  EXPECT_EQ(o.last_line(), "nobody sent anything for 10 ms");
}

TEST(example, worker_pool) {
  const outcome o = run("examples/weft-worker_pool");
  EXPECT_EQ(o.status, 0) << o.err;
  EXPECT_EQ(o.last_line(), "1 + 4 + 9 + ... + 1000000 = 333833500");
}

TEST(example, pipeline) { EXPECT_EQ(run("examples/weft-pipeline").status, 0); }

TEST(example, select_timeout) { EXPECT_EQ(run("examples/weft-select_timeout").status, 0); }

// What it shows takes a second a case and a machine that is not busy.
TEST(example, unstoppable_knows_its_command_line) {
  const outcome help = run("examples/weft-unstoppable", "--help");
  EXPECT_EQ(help.status, 0) << help.err;
  EXPECT_NE(help.out.find("\n  sqlite "), std::string::npos) << help.out;
  const outcome wrong = run("examples/weft-unstoppable", "read no_such");
  EXPECT_EQ(wrong.status, 2);
  EXPECT_EQ(wrong.out, "");
  EXPECT_EQ(wrong.err, "weft-unstoppable: unknown argument 'no_such'; see --help\n");
}

TEST(bench, refuses_a_wrong_command_line) {
  for (const char* wrong : {"no_such", "--procs", "--procs 0", "--procs x", "--repeat -1", "--procs 5000",
                            "--what", "--procsx 1", "fib_25 no_such"}) {
    const outcome o = run("bench/weft-bench", wrong);
    EXPECT_EQ(o.status, 2) << wrong;
    EXPECT_NE(o.err, "") << wrong;
    EXPECT_EQ(o.out, "") << wrong;
  }
}

TEST(bench, lists_its_workloads) {
  const outcome o = run("bench/weft-bench", "--list");
  EXPECT_EQ(o.status, 0);
  EXPECT_NE(o.out.find("\nchan_pingpong "), std::string::npos) << o.out;
  EXPECT_NE(o.out.find("\nlocked_pingpong  (by name)"), std::string::npos) << o.out;
}

TEST(bench, prints_the_line_of_a_workload) {
  const outcome o = run("bench/weft-bench", "--procs=2 --repeat 2 fib_25");
  EXPECT_EQ(o.status, 0) << o.err;
  EXPECT_EQ(o.out.rfind("fib_25 procs=2 ops=242785 ns_per_op=", 0), 0u) << o.out;
  EXPECT_EQ(o.last_line().rfind("fib_25 procs=2 ops=242785 ns_per_op=", 0), 0u) << o.out;
}
