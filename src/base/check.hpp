// check.hpp — two kinds of assertion, and the ways to end the process.
//
//   WEFT_CHECK   kept in release: the scheduler's own state is corrupt. Says so, dumps, exit status 2.
//   WEFT_DCHECK  debug builds only: everything else.
//
// The macros are internal; no public header has one.
#pragma once
#include <cstdint>

namespace weft::inline v0::rt {

// Prints "fatal error: TEXT" and the dump of all goroutines (through the port that observe installs), then
// ends the process with status 2. Go's `fatal`/`throw`. Callable from anywhere, any number of times at once:
// the first wins, the others sleep.
[[noreturn]] void fatal(const char* text) noexcept;
[[noreturn]] void check_failed(const char* expression, const char* file, int line) noexcept;

// The upward call: what to print after the first line. Null prints nothing. Set once by observe.
// `fault_context` is a ucontext_t* when the process dies of a signal, else null.
using dump_port = void (*)(const void* fault_context) noexcept;
void set_dump_port(dump_port dump) noexcept;

// Runs the dump (once) and ends the process with `status`; for fatal texts that are longer than one line,
// print them first.  The first caller to begin_fatal() goes on; every other thread sleeps for ever in it. The
// same thread may call it again before finish_fatal(); if the dump itself fails, the process ends at once.
void begin_fatal() noexcept;
[[noreturn]] void finish_fatal(int status, const void* fault_context = nullptr) noexcept;
// The same, but the process dies of `signal`, with a core where the system makes one.
[[noreturn]] void finish_fatal_by_signal(int signal, const void* fault_context) noexcept;
bool is_dying_here() noexcept;   // the dump has begun, on this thread: handlers of what comes then do nothing

// How long a dump may take before the process ends without the rest of it: 10 s unless a test sets another.
void set_dump_limit(std::int64_t ns) noexcept;
// WEFT_TRACEBACK=crash: every fatal end aborts, with a core, instead of exiting.
void set_crash_on_fatal(bool crash) noexcept;

}  // namespace weft::inline v0::rt

#define WEFT_CHECK(expression) \
  (__builtin_expect(static_cast<bool>(expression), 1) \
       ? void(0)                                       \
       : ::weft::rt::check_failed(#expression, __FILE__, __LINE__))
#ifdef WEFT_DEBUG_CHECKS
#define WEFT_DCHECK(expression) WEFT_CHECK(expression)
#else
#define WEFT_DCHECK(expression) (true ? void(0) : void(static_cast<bool>(expression)))
#endif
