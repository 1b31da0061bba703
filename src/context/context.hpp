// context.hpp — one goroutine's registers, and the switch between two of them. Platform text: x86_64.S,
// aarch64.S.
//
// What a switch carries (each has a test in tests/unit/context):
//   callee-saved registers, stack pointer      the switch itself, on the stack it leaves
//   x87 control word (x86-64), FPCR (aarch64)  compared, written only when it differs
//   MXCSR (x86-64)                             only when asked (attrs.fp_env): reading it costs 5 ns
//   errno, C++ exception globals               carried_state below, by save_carried()/load_carried()
//   sanitizer fibre                            context/sanitizer.hpp
// A switch moves no locks and no signal mask; those belong to the thread (docs/threads.md).
//
// A fresh context starts with the floating-point environment that the process had when the runtime first
// looked (find_carried_home() on its first thread), so a program built with -ffast-math keeps it in its
// goroutines.
#pragma once
#include <cstdint>

namespace weft::inline v0::rt {

struct context {
  void* sp = nullptr;   // everything else lies on the stack above it
};

// What the first frame of a fresh context calls. It never returns. Its caller's frame has an undefined return
// address in its CFI, so unwinders and debuggers stop there.
using context_entry = void (*)(void* arg);

// Makes a context which, when switched to, calls entry(arg) on the stack that ends at `stack_top`
// (16-byte alignment is made here). Takes 80 bytes (aarch64: 192) of that stack.
context make_context(void* stack_top, context_entry entry, void* arg) noexcept;

extern "C" {
// Saves the caller in *from and resumes `to`. Returns when somebody switches back to *from, perhaps on
// another thread: nothing derived from a thread_local may be live across it.
void weft_switch(context* from, context to) noexcept;
// The same, and MXCSR too: needed when either side asked for it. Either function resumes what the other
// saved; a context saved by weft_switch gets the initial MXCSR from weft_switch_fp.
void weft_switch_fp(context* from, context to) noexcept;
}
// Resumes `to`; the caller's stack is dead from here on. MXCSR: see reset_fp_env().
[[noreturn]] inline void jump(context to) noexcept;

// Calls fn(arg) as if on top of the parked context `of`: unwinding inside fn goes on to of's frames. How a
// dump walks the stack of a goroutine that is not running. fn runs on the caller's stack; `of` is unchanged.
void call_on_top_of(const context& of, void (*fn)(void*), void* arg) noexcept;

// Gives the calling thread a fresh context's floating-point environment: for the next goroutine on the stack
// of one that ended, where no switch does it. `mxcsr_too`: the one that ended had asked for MXCSR.
void reset_fp_env(bool mxcsr_too) noexcept;

// The C++ runtime's per-thread exception state and errno, as they travel with a goroutine.
struct carried_state {
  void* caught_exceptions = nullptr;      // __cxa_eh_globals: innermost handled exception
  unsigned uncaught_exceptions = 0;       //                   and how many are in flight
  int saved_errno = 0;
};
// Where this thread keeps its own (__cxa_get_globals()); fetched once per thread, outside, kept in the M.
struct carried_home {
  void* eh_globals = nullptr;
  int* errno_location = nullptr;
};
carried_home find_carried_home() noexcept;   // calls libc: on the thread itself, outside
inline void save_carried(carried_state& s, const carried_home& home) noexcept;
inline void load_carried(const carried_state& s, const carried_home& home) noexcept;

}  // namespace weft::inline v0::rt

#include "context/carried.inl"
#include "context/jump.inl"
