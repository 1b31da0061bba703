// maps.hpp — what lies where in memory, read from /proc/self/maps with system calls only: for signal handlers
// and dying processes.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace weft::inline v0::rt::os {

struct mapping {
  std::uintptr_t start = 0, end = 0;
  bool writable = false, executable = false;
  std::string_view name;       // path, [stack], [vdso]... or empty; valid inside `see` only
};

// Calls see(mapping, arg) for each in order of address, until it returns false. No effect where /proc is not
// there.
void for_each_mapping(bool (*see)(const mapping& m, void* arg) noexcept, void* arg) noexcept;

}  // namespace weft::inline v0::rt::os
