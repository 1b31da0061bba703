// goroutine_dump.hpp — what every goroutine is doing, in Go's shape.
//
//     goroutine 7 [chan receive, 5 minutes, locked to thread, "worker"]:
//     <tab>0x55d0c0a01234 /usr/bin/app+0x1234
//     <tab>0x55d0c0a01299 /usr/bin/app+0x1299 (fault)
//     created by goroutine 1 at 0x55d0c0a01500 /usr/bin/app+0x1500
//
// and then, after the line `symbolized:`, the same with functions, files and lines (naming.hpp).
//
// D1  the raw part is written first, with write(2), from memory that is there from the start
// D2  the goroutine that dies, or that asks, comes first, the others by id; after the 1,000 oldest:
//     `...N more goroutines elided...`. The runtime's own goroutines are shown at level `system` only
// D3  a goroutine that runs on another thread, or is stopped there, is walked by that thread
//     (running_stack.hpp); one that does not answer in time has no stack to show
// D4  a death does not stop the others; one that is woken while its stack is walked gives a wrong trace
// D5  frames of the runtime are in the raw part always, in the symbolized part at level `system` only
// How much: WEFT_TRACEBACK (base/settings.hpp).
#pragma once

namespace weft::inline v0::rt {

// The dump port of base/check.hpp: on the thread that dies, in any state.
void dump_at_death(const void* fault_context) noexcept;

// What to call when that dump has been written; null: nothing. For the user's terminate handler.
void set_after_dump(void (*then)()) noexcept;

}  // namespace weft::inline v0::rt
