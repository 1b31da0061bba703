// dump.hpp — see what every goroutine is doing.
#pragma once

namespace weft::inline v0 {

// Writes all goroutines to the descriptor in the form of Go's dumps: the caller first, the others by id (the
// 1,000 oldest), each with its state, what it waits for, its stack and who created it. First as raw
// addresses, then, where weft-symbolizer is installed, with functions and lines; that can take seconds for
// large programs, during which the others run on. Descriptor and time apart, this does not disturb the
// program: the world is stopped only while the raw part is written. A goroutine in the middle of user code on
// another thread is shown without its stack. Parks; from a plain thread it blocks. Throws std::bad_alloc.
void dump_goroutines(int fd);

// Writes the line that WEFTDEBUG=schedtrace=MS prints at every interval: processors, threads, queues. The
// numbers are read while everything runs. Does not park; from any goroutine or thread.
void print_schedtrace(int fd);

}  // namespace weft::inline v0
