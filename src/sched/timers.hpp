// timers.hpp — timers as the rest of the runtime sees them: which P's heap they go to, who is told.
#pragma once
#include "timeheap/timer_heap.hpp"

namespace weft::inline v0::rt {

// Inside. Arms `node` on the caller's P (on some P for a thread without one) and makes sure that whoever
// sleeps until a later instant learns of it. An armed node moves. What is past fires at the next look.
void arm_timer(timer_node& node, std::int64_t when) noexcept;

// How many timers may still fire, on all Ps (advisory unless the world is stopped).
std::size_t live_timers() noexcept;

}  // namespace weft::inline v0::rt
