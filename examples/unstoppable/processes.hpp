// processes.hpp — another program, by fork and exec.
#pragma once
#include <sys/types.h>

namespace unstoppable {

// Runs arguments[0] with these as standard input and output (-1: ours). Throws std::system_error.
pid_t start_program(const char* const* arguments, int input = -1, int output = -1);
// Waits for its end; its exit status, or -1 if a signal killed it.
int end_of(pid_t child);

}  // namespace unstoppable
