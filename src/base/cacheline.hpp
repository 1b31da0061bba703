// cacheline.hpp — how far apart two words must lie so that two cores can write them in peace.
#pragma once
#include <cstddef>

namespace weft::inline v0::rt {

// 64 bytes is the line of every x86-64 and of nearly every aarch64 core. The adjacent-line prefetcher
// makes 128 better for words that two cores write all the time; only the run queue's ends are such.
inline constexpr std::size_t cache_line = 64;

}  // namespace weft::inline v0::rt
