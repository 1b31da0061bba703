// cacheline.hpp — how far apart two words must lie so that two cores can write them in peace.
#pragma once
#include <cstddef>

namespace weft::inline v0::rt {

// The line of every x86-64 and of nearly every aarch64 core.
inline constexpr std::size_t cache_line = 64;

}  // namespace weft::inline v0::rt
