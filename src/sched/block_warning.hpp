// block_warning.hpp — WEFTDEBUG=blockwarn=1: which call blocked a thread without being announced.
//
//   sysmon    has taken the P of such a thread (retake.cpp): note_block, into the buffer, if the place has
//             its turn and there is room; else it is counted
//   helper    prints what is there (observe/block_warning.cpp)
//
// A place is an address. It has a line at once, then one a second at most, with the number of those between.
#pragma once
#include <cstdint>

namespace weft::inline v0::rt {

struct block_warning {
  std::uint64_t goroutine = 0;
  long call = 0;                 // os::blocked_in
  const void* pc = nullptr;      // null: not known
  std::uint32_t not_told = 0;    // at this place, since the last line
};

void note_block(const block_warning& what, std::int64_t now) noexcept;      // sysmon
bool next_block_warning(block_warning& into) noexcept;                      // false: no more
std::uint32_t take_lost_warnings() noexcept;                                // there was no room for so many

}  // namespace weft::inline v0::rt
