// hello.cpp — does next to nothing, and says how it is set up: for tests of what the environment may say.
#include <cstdio>

#include "weft/runtime.hpp"

int main() {
  return weft::run([] {
    std::printf("hello from %d procs\n", weft::maxprocs());
    return 0;
  });
}
