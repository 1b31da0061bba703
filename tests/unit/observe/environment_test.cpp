// environment_test.cpp — bad values in the environment: one line on stderr that names the variable, the value
// and what is allowed; the program runs with the default.
#include <gtest/gtest.h>

#include <algorithm>

#include "child.hpp"

namespace {

using weft_test::child_result;
using weft_test::run_program;

void expect_complaint(const std::string& variable, const std::string& value) {
  child_result r = run_program("hello", {}, {variable + "=" + value});
  EXPECT_EQ(r.exit_status, 0) << r;
  EXPECT_EQ(r.out.find("hello from "), 0u) << r;
  EXPECT_EQ(std::count(r.err.begin(), r.err.end(), '\n'), 1) << r;
  EXPECT_NE(r.err.find(variable + "=" + value), r.err.npos) << r;
  EXPECT_NE(r.err.find("allowed"), r.err.npos) << r;
}

TEST(environment, BadValues) {
  for (const char* value : {"abc", "0", "-1", "1e9", "4097", " 2", "99999999999999999999"})
    expect_complaint("WEFT_MAXPROCS", value);
  for (const char* value : {"3", "abc", "2GiB", "-1"}) expect_complaint("WEFT_STACK", value);
  for (const char* value : {"0", "x"}) expect_complaint("WEFT_MAXTHREADS", value);
  expect_complaint("WEFT_STACKGUARD", "perhaps");
  expect_complaint("WEFT_TRACEBACK", "loud");
  for (const char* value : {"unknown=1", "schedtrace=x", "scheddetail=2"})
    expect_complaint("WEFTDEBUG", value);
  expect_complaint("WEFT_SYMBOLIZE", "/no/such/program");
}

TEST(environment, GoodValues) {
  for (const char* setting :
       {"WEFT_MAXPROCS=3", "WEFT_STACK=64KiB", "WEFT_STACK=", "WEFT_MAXTHREADS=100", "WEFT_STACKGUARD=strict",
        "WEFT_TRACEBACK=single", "WEFTDEBUG=updatemaxprocs=0", "WEFT_SYMBOLIZE=off"}) {
    child_result r = run_program("hello", {}, {setting});
    EXPECT_EQ(r.exit_status, 0) << setting << r;
    EXPECT_EQ(r.err, "") << setting;
  }
  EXPECT_EQ(run_program("hello", {}, {"WEFT_MAXPROCS=3"}).out, "hello from 3 procs\n");
}

}  // namespace
