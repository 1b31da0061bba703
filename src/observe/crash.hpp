// crash.hpp — signals that end the process: SIGSEGV, SIGBUS, SIGABRT, SIGILL, SIGFPE, and SIGQUIT.
//
// While a world runs every goroutine is dumped first. The process then dies of the same signal, as it would
// without us; after SIGQUIT it exits with status 2, as a program of Go does. A handler that was there before
// run() gets the signal instead; SIGSEGV and SIGBUS in a guard of a stack excepted (overflow_report.hpp).
#pragma once
#include <signal.h>

namespace weft::inline v0::rt {

void install_crash_handlers() noexcept;   // once, outside
// For a SIGSEGV or SIGBUS that is nobody's. Returns when the default action is all that is left to do.
void die_of_signal(int signal, const siginfo_t* info, const void* context) noexcept;

}  // namespace weft::inline v0::rt
