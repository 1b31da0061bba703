// select_case.hpp — a select without its types: what select.hpp and selector.hpp hand to src/chan/select.cpp.
#pragma once
#include <cstddef>
#include <cstdint>

#include "weft/detail/chan_core.hpp"
#include "weft/detail/deadline.hpp"

namespace weft::inline v0::rt {

struct select_case {
  chan_core* core = nullptr;   // null: the nil channel, never ready
  void* slot = nullptr;        // the value to send, or the place to receive into
  bool is_send = false;
  bool ok = false;             // set for the one that fired: moved a value. False: its channel is closed.
};

inline constexpr std::size_t most_select_cases = 65536;

// Memory that a select of n cases works in: a waiter, a lock and a position each. It lies with the cases, on
// the stack of a goroutine or in a selector, because nothing is allocated inside the runtime.
constexpr std::size_t select_scratch_size(std::size_t n) noexcept { return n * 56 + 16; }

struct select_request {
  select_case* cases;
  std::uint32_t size;                    // at most most_select_cases
  bool waits;                            // false: there is an otherwise()
  void* scratch;                         // select_scratch_size(size) bytes, aligned for pointers
  detail::wait_limits limits;
};

// What select_run returns when no case fired.
inline constexpr std::uint32_t select_otherwise = 0xffffffff, select_timed_out = 0xfffffffe,
                               select_stopped = 0xfffffffd;

// Decides and performs one case, or waits for one: outside, parks unless !waits. Returns its index or one of
// the above.
std::uint32_t select_run(const select_request& request);

}  // namespace weft::inline v0::rt
