// fault.hpp — what a signal handler's ucontext says about the interrupted thread.
#pragma once
#include <ucontext.h>

#include <cstdint>

namespace weft::inline v0::rt::os {

inline std::uintptr_t interrupted_pc(const void* context) noexcept {
  const mcontext_t& registers = static_cast<const ucontext_t*>(context)->uc_mcontext;
#if defined(__x86_64__)
  return static_cast<std::uintptr_t>(registers.gregs[REG_RIP]);
#else
  return registers.pc;
#endif
}

inline std::uintptr_t interrupted_sp(const void* context) noexcept {
  const mcontext_t& registers = static_cast<const ucontext_t*>(context)->uc_mcontext;
#if defined(__x86_64__)
  return static_cast<std::uintptr_t>(registers.gregs[REG_RSP]);
#else
  return registers.sp;
#endif
}

}  // namespace weft::inline v0::rt::os
