// child.hpp — run a program of tests/programs and look at how it ended.
//
//   child_result r = run_program("crash", {"simple_deadlock"});
//   EXPECT_EQ(r.exit_status, 2) << r;
//   EXPECT_TRUE(r.err.starts_with("fatal error: ..."));
//
// The child gets this process's environment without WEFT variables, plus what is asked for. A child that
// lives longer than 60 s (more under sanitizers) is killed; `timed_out` says so.
#pragma once
#include <initializer_list>
#include <ostream>
#include <string>
#include <vector>

namespace weft_test {

struct child_result {
  int exit_status = -1;      // -1: it did not exit
  int signal = 0;            // that ended it
  bool timed_out = false;
  std::string out, err;      // what it wrote
};
std::ostream& operator<<(std::ostream& to, const child_result& r);

struct child_options {
  std::vector<std::string> arguments = {};
  std::vector<std::string> environment = {};   // "NAME=value"
  int signal_when = 0;  // sent when the first line comes on its standard output; 0: none
  bool signal_group = false;   // to its process group, which it then has for itself, again and again
};
child_result run_child(const std::string& path, const child_options& how);

#ifdef WEFT_PROGRAM_DIR
inline child_result run_program(const std::string& name, const child_options& how) {
  return run_child(std::string(WEFT_PROGRAM_DIR) + "/program_" + name, how);
}
inline child_result run_program(const std::string& name, std::vector<std::string> arguments = {},
                                std::vector<std::string> environment = {}) {
  return run_program(name, child_options{std::move(arguments), std::move(environment)});
}
#endif

// One goroutine of a dump.
struct dumped_goroutine {
  std::string id, status;    // as in "goroutine ID [STATUS]:"
  std::string body;          // the lines below, up to the next goroutine
};
// Of the raw part of a dump, or of the symbolized one (empty when there is none).
std::vector<dumped_goroutine> goroutines_in(const std::string& err, bool symbolized);

}  // namespace weft_test
