// jump.inl — the end of a context: a jump where a call would be, because nobody returns (x86_64.S). Platform
// file.
#pragma once

namespace weft::inline v0::rt {

[[noreturn]] inline void jump(context to) noexcept {
#if defined(__x86_64__)
  asm volatile("jmp weft_jump" : : "D"(to.sp) : "memory");
#elif defined(__aarch64__)
  register void* sp asm("x0") = to.sp;
  asm volatile("b weft_jump" : : "r"(sp) : "memory");
#endif
  __builtin_unreachable();
}

}  // namespace weft::inline v0::rt
