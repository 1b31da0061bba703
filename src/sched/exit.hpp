// exit.hpp — what the others must know of the end of the process (exit.cpp).
#pragma once

namespace weft::inline v0::rt {

struct machine;

void install_exit_handlers() noexcept;               // outside, at the first run()
void watch_end_of_machine(machine* mp) noexcept;     // its own thread, outside; null: it ends as it should
// exit() runs. For destructors, before they complain that somebody waits in the object: walks the stack.
bool process_exits() noexcept;

}  // namespace weft::inline v0::rt
