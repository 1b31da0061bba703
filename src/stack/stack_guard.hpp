// stack_guard.hpp — how the guard below a stack is made; the ladder of stack.hpp. Internal to src/stack.
#pragma once
#include <cstddef>

#include "stack/stack.hpp"

namespace weft::inline v0::rt {

enum class guard_kind : unsigned char {
  marker,       // MADV_GUARD_INSTALL: no mapping, no memory
  protection,   // mprotect: two mappings each
  none,         // looked at afterwards
};

void guard_init(bool strict) noexcept;   // probes; once, before the first guard
bool guard_install(std::byte* at, std::size_t bytes) noexcept;   // false: this stack has no guard
bool guards_are_strict() noexcept;

// For stacks without a guard: has anything touched that region? One system call.
bool guard_touched(const std::byte* at, std::size_t bytes) noexcept;

// Ends the process with the overflow report (stack_overflow.cpp).
[[noreturn]] void die_of_overflow(const stack& which, const void* address, const void* ucontext) noexcept;

// For tests: takes the ladder from this rung downwards, with room for `protections` guards by mprotect.
void guard_start_at(guard_kind kind, std::size_t protections) noexcept;

}  // namespace weft::inline v0::rt
