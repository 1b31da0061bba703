// block_warning.hpp — WEFTDEBUG=blockwarn=1: a line on stderr about a call that blocked its thread.
#pragma once

namespace weft::inline v0::rt {

void print_block_warnings() noexcept;   // those that wait (sched/block_warning.hpp); helper thread

}  // namespace weft::inline v0::rt
