// thread_pointer.hpp — which machine the calling thread is: the library's one thread_local, and how to read
// it.
//
//   weft_this_machine   a hidden initial-exec TLS word: no allocation at first touch, also in the shared
//                       library and in a signal handler; null on a thread that the runtime does not know
//
// T1  a goroutine changes its thread when it parks, so the value is read anew at each use. The compiler may
//     assume that a thread_local stays where it is for the whole of a function, and keeps its address across
//     calls; it cannot look into an asm. `volatile` keeps two reads from being merged, LTO and -O3 included.
// T2  written by the thread itself only.
//
// Rejected: a noinline function (LTO clones and moves calls it can prove pure); pthread_getspecific (2 ns).
#pragma once

namespace weft::inline v0::rt {

struct machine;

inline machine* this_machine() noexcept {
  machine* m;
#if defined(__x86_64__)
  asm volatile("movq weft_this_machine@gottpoff(%%rip), %0\n\tmovq %%fs:(%0), %0" : "=r"(m));
#elif defined(__aarch64__)
  void* offset;
  asm volatile(
      "mrs %0, tpidr_el0\n\t"
      "adrp %1, :gottprel:weft_this_machine\n\t"
      "ldr %1, [%1, :gottprel_lo12:weft_this_machine]\n\t"
      "ldr %0, [%0, %1]"
      : "=&r"(m), "=&r"(offset));
#else
#error "weft: no context switch for this architecture"
#endif
  return m;
}

void set_this_machine(machine* m) noexcept;   // null when the thread leaves the runtime for good

}  // namespace weft::inline v0::rt
