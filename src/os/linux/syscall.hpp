// syscall.hpp — one inline system call: no PLT, no errno, no libc lock. Results from -4095 to -1 are negative
// errno values.
#pragma once
#include <sys/syscall.h>

#include <cstdint>
#include <type_traits>

namespace weft::inline v0::rt::os {

template <class T>
inline long system_call_argument(T v) noexcept {
  if constexpr (std::is_pointer_v<T>)
    return static_cast<long>(reinterpret_cast<std::uintptr_t>(v));
  else if constexpr (std::is_null_pointer_v<T>)
    return 0;
  else
    return static_cast<long>(v);
}

inline long system_call6(long number, long a, long b, long c, long d, long e, long f) noexcept {
#if defined(__x86_64__)
  long result = number;
  register long r10 __asm__("r10") = d;
  register long r8 __asm__("r8") = e;
  register long r9 __asm__("r9") = f;
  __asm__ volatile("syscall"
                   : "+a"(result)
                   : "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
                   : "rcx", "r11", "memory");
  return result;
#elif defined(__aarch64__)
  register long x8 __asm__("x8") = number;
  register long x0 __asm__("x0") = a;
  register long x1 __asm__("x1") = b;
  register long x2 __asm__("x2") = c;
  register long x3 __asm__("x3") = d;
  register long x4 __asm__("x4") = e;
  register long x5 __asm__("x5") = f;
  __asm__ volatile("svc #0"
                   : "+r"(x0)
                   : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5)
                   : "memory");
  return x0;
#else
#error "Weft runs on x86-64 and aarch64"
#endif
}

// Arguments are integers or pointers; the missing ones are passed as 0.
template <class A = long, class B = long, class C = long, class D = long, class E = long, class F = long>
inline long system_call(long number, A a = {}, B b = {}, C c = {}, D d = {}, E e = {}, F f = {}) noexcept {
  return system_call6(number, system_call_argument(a), system_call_argument(b), system_call_argument(c),
                      system_call_argument(d), system_call_argument(e), system_call_argument(f));
}

}  // namespace weft::inline v0::rt::os
