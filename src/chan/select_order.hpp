// select_order.hpp — the two orders of a select: the random one in which cases are looked at, and the one of
// addresses in which channels are locked.
#pragma once
#include <cstdint>

#include "base/random.hpp"
#include "weft/detail/select_case.hpp"

namespace weft::inline v0::rt {

// Fills `order` with the indexes of the cases whose channel is not nil, all permutations equally likely, and
// returns how many they are. With `extra`, one more entry of that value takes part.
std::uint32_t make_poll_order(const select_case* cases, std::uint32_t n, const std::uint32_t* extra,
                              std::uint32_t* order, random_source& random) noexcept;

// Fills `order` with the channels, each once, by their addresses; allocates nothing, n log n. Returns how
// many they are.
std::uint32_t make_lock_order(const select_case* cases, std::uint32_t n, chan_core** order) noexcept;

}  // namespace weft::inline v0::rt
