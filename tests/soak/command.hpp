// command.hpp — weft-soak's command line, and what it can be asked to run.
#pragma once
#include <cstddef>
#include <string>
#include <vector>

#include "faults.hpp"
#include "kit.hpp"

namespace soak {

enum class kind { goroutines, threads, computation };

struct command {
  kind what = kind::goroutines;
  int procs = 2;
  double seconds = 10;
  std::size_t goroutines = 0;          // as many as the kind says
  int arenas = 0;                      // of malloc; 0: as libc likes
  int gap_ms = 0;                      // 0: each goroutine is watched
  fault threads = fault::none;
  std::vector<const operation*> chosen;   // one of them is drawn each time
};

command parse(char** words);           // ends the process for --help and for what is wrong

void run_goroutines(const command& how);   // worlds.cpp
void run_threads(const command& how);
void run_computation(const command& how);  // computation.cpp

// Something is wrong, and a dump would not help: the process ends with status 1.
[[noreturn]] void fail(const std::string& what);

}  // namespace soak
