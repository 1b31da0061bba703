// main.cpp — weft-soak: other people's code in goroutines, as long as you like, and a watch over them.
//
//   command      what to run, and how                worlds, computation   what runs
//   operations   what a goroutine does (kit.hpp)     watch                 sees that each one gets on
//   faults       threads that do not come            hiccups               preloaded: malloc that blocks
#include <malloc.h>

#include <cstdio>

#include "command.hpp"

int main(int, char** argv) {
  const soak::command how = soak::parse(argv);
  if (how.arenas != 0) mallopt(M_ARENA_MAX, how.arenas);
  switch (how.what) {
    case soak::kind::goroutines: run_goroutines(how); break;
    case soak::kind::threads: run_threads(how); break;
    case soak::kind::computation: run_computation(how); break;
  }
  std::puts("ok");
}
