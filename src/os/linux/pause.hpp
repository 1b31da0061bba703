// pause.hpp — waiting a few nanoseconds without giving the CPU away.
#pragma once

namespace weft::inline v0::rt::os {

inline void cpu_pause(int times) noexcept {
  for (int i = 0; i < times; ++i) {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#else
    __asm__ volatile("isb" ::: "memory");   // what "yield" only hints at; nearest to the x86 pause in length
#endif
  }
}

}  // namespace weft::inline v0::rt::os
