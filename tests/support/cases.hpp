// cases.hpp — for a program of tests/programs: a table of cases, one of which is run in a world of its own.
#pragma once
#include <cstddef>
#include <cstdio>
#include <cstring>

#include "weft/runtime.hpp"

namespace weft_test {

struct named_case {
  const char* name;
  void (*run)();
};

inline int no_case(const char* wanted) {
  std::fprintf(stderr, "no case %s\n", wanted);
  return 1;
}

// The exit status of the program. `at_end` is printed when the case has returned.
template <std::size_t n>
int run_case(const named_case (&cases)[n], const char* wanted, int maxprocs, const char* at_end = "OK") {
  for (const named_case& c : cases) {
    if (std::strcmp(c.name, wanted) != 0) continue;
    weft::run({.maxprocs = maxprocs}, c.run);
    std::puts(at_end);
    return 0;
  }
  return no_case(wanted);
}

}  // namespace weft_test
