// timer_channel.hpp — the channel of a timer or ticker: one slot, filled when somebody looks.
//
//   when       the instant of the next event; `stopped`: none is to come
//   the slot   an event that has come and was not received
//
//   nobody waits     the node is not armed, or for nothing (a waiter has left): its fire then does nothing.
//                    A receive first calls refresh(): has `when` passed, the slot gets it
//   somebody waits   the node is armed for `when`; its fire does the same and gives the slot to a receiver
//
// I1  everything here is under the channel's lock
// I2  the fire function runs under a heap's lock, which comes after a channel's in the order: it only tries
//     the channel's and comes again a little later if it is held. So nobody who holds it waits for a fire, or
//     has to
// I3  the slot never holds an event from before the last stop() or reset()
// I4  the last handle quiesces the node before the memory goes (the node itself is in a slab: timer_slab.hpp)
// I5  arming comes before or after queueing the waiter: the lock is held over both
//
// Called by the channel's operations (chan/) where chan_core::timed is set, and by timer.cpp.
#pragma once
#include <cstdint>

#include "weft/detail/chan_core.hpp"

namespace weft::inline v0::rt {

// Under the lock: before a look at what there is to receive; when a receiver is about to wait.
void timer_channel_refresh(chan_core& c) noexcept;
void timer_channel_watch(chan_core& c) noexcept;
// Outside: the last handle is gone.
void timer_channel_destroy(chan_core* c) noexcept;

}  // namespace weft::inline v0::rt
