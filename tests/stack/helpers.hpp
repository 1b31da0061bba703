// helpers.hpp — what the stack tests look at from outside.
#pragma once
#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <string>

#include "context/sanitizer.hpp"
#include "stack/stack.hpp"
#include "stack/stack_guard.hpp"

namespace weft_test {

namespace rt = weft::rt;

// errno of write(2) from this address, 0 when it can be read.
inline int fault_at(const void* address) {
  int ends[2];
  if (pipe(ends) != 0) return -1;
  int error = write(ends[1], address, 1) < 0 ? errno : 0;
  close(ends[0]);
  close(ends[1]);
  return error;
}

inline long status_kb(const char* field) {   // of /proc/self/status
  std::ifstream file("/proc/self/status");
  for (std::string line; std::getline(file, line);)
    if (line.rfind(field, 0) == 0) return std::stol(line.substr(std::strlen(field) + 1));
  return -1;
}

inline long mapping_count() {
  std::ifstream file("/proc/self/maps");
  long lines = 0;
  for (std::string line; std::getline(file, line);) ++lines;
  return lines;
}

inline void touch_first_page(const rt::stack& s) { *reinterpret_cast<volatile char*>(s.top - 64) = 1; }

}  // namespace weft_test
