// timer_slab.hpp — where the nodes of timers and tickers lie: memory that stays readable (timer_heap.hpp,
// I2).
//
// A heap may keep an entry that names a node long after the node was disarmed, so a node is never unmapped,
// only given to another timer. Slots come from pages of the runtime, 64 KiB at a time, and go back to one
// free list.
#pragma once
#include "timeheap/timer_heap.hpp"

namespace weft::inline v0::rt {

struct timer_slot {
  timer_node node;
  union {
    void* owner = nullptr;     // in use: what the fire function works on; constant while the node is armed
    timer_slot* next_free;
  };

  // The node comes first.
  static timer_slot& of(timer_node& n) noexcept { return reinterpret_cast<timer_slot&>(n); }
};

// Inside. Null: memory has run out.
timer_slot* take_timer_slot(void* owner, timer_node::fire_fn fire) noexcept;
// Inside. The slot's node is disarmed and no fire of it is under way.
void give_timer_slot(timer_slot* slot) noexcept;

// Makes sure that the node will not fire and is not firing. Inside; the fire function must not need a lock
// that the caller holds, other than by try_lock. True: it was armed.
bool quiesce(timer_node& node) noexcept;

}  // namespace weft::inline v0::rt
