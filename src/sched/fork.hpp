// fork.hpp — what the others must know of a fork (fork.cpp).
#pragma once

namespace weft::inline v0::rt {

void install_fork_handlers() noexcept;               // outside, at the first run()
// This process is the child of a fork of one that had called run(). Destructors then do nothing.
bool in_forked_child() noexcept;
void refuse_in_forked_child() noexcept;              // aborts there, with one line

// Around the creation of a thread, on the template thread.
void begin_creation() noexcept;
void end_creation() noexcept;

}  // namespace weft::inline v0::rt
