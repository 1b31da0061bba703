// sanitizer.hpp — what ASan and TSan must be told about stacks and switches. All of it compiles to nothing in
// ordinary builds. The only file of the project, with sanitizer.cpp, that looks at sanitizer macros.
//
// ASan keeps a fake stack and bounds per fibre. TSan keeps a clock per fibre; its handles are scarce (8,128
// threads and fibres in GCC 12) and dear (0.3 to 1 ms each there), so they are pooled and taken at first run.
// The runtime itself is not instrumented by TSan: like Go's race detector, the operations say which edges
// they make (hb_release / hb_acquire on the address of the object), so a report is about the user's code and
// a missing edge between two goroutines is found even on one thread.
//
// Not here: Valgrind's stack registration. Its client requests need its headers and a few instructions at
// each stack; --max-stackframe does for the rare run.
#pragma once
#include <cstddef>
#include <cstdint>

#include "base/atomic.hpp"

#if defined(__SANITIZE_ADDRESS__)
#define WEFT_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define WEFT_ASAN 1
#endif
#endif

namespace weft::inline v0::rt::sanitizer {

#if defined(WEFT_ASAN)
inline constexpr bool address = true;
#else
inline constexpr bool address = false;
#endif
#if defined(WEFT_TSAN)   // from CMake: the runtime is not instrumented, so the compiler does not say it
inline constexpr bool thread = true;
#else
inline constexpr bool thread = false;
#endif

#if defined(WEFT_ASAN) || defined(WEFT_TSAN)

// Per goroutine (and per thread's own stack). Zero-initialised.
struct fibre {
  void* handle = nullptr;       // TSan's; for ASan the bounds of a thread's own stack
  void* fake_stack = nullptr;   // ASan's, while not running; for TSan the bottom of its stack
};

void fibre_start(fibre& f) noexcept;                    // a goroutine gets a stack: TSan handle from the pool
void fibre_end(fibre& f) noexcept;                      // it has returned and left its stack for good
// It was abandoned in the middle of something: what it did is before whoever acquires `release_to`.
void fibre_discard(fibre& f, const void* release_to) noexcept;
void adopt_thread(fibre& f) noexcept;                   // the calling thread's own stack

// Around a switch: the leaving side names the target's fibre and stack, the arriving side confirms.
// `dying`: the leaving stack will never be resumed.
void before_switch(fibre& from, fibre& to, const void* to_stack_bottom, std::size_t to_stack_size,
                   bool dying) noexcept;
void after_switch(fibre& arrived) noexcept;

void unpoison_stack(void* bottom, std::size_t size) noexcept;   // before a stack is used again (ASan)

// LSan looks for pointers in a stack that is not a thread's own only when it is told of it. Without the
// guard: it would read that. Called with `add` when a stack leaves its slab, without when it comes back.
void stack_root(const void* bottom, std::size_t size, bool add) noexcept;

// Happens-before edges (TSan), by address.
void hb_release(const void* address) noexcept;
void hb_acquire(const void* address) noexcept;
// The same for a word that public headers release with their own, instrumented operation. TSan makes that and
// the release one step, but its acquire looks whether there was any release before it waits for that step.
void hb_acquire_word(const atomic<std::uint32_t>& word) noexcept;
void hb_acquire_word(const atomic<std::int64_t>& word) noexcept;

#else

struct fibre {};

inline void fibre_start(fibre&) noexcept {}
inline void fibre_end(fibre&) noexcept {}
inline void fibre_discard(fibre&, const void*) noexcept {}
inline void adopt_thread(fibre&) noexcept {}
inline void before_switch(fibre&, fibre&, const void*, std::size_t, bool) noexcept {}
inline void after_switch(fibre&) noexcept {}
inline void unpoison_stack(void*, std::size_t) noexcept {}
inline void stack_root(const void*, std::size_t, bool) noexcept {}
inline void hb_release(const void*) noexcept {}
inline void hb_acquire(const void*) noexcept {}
inline void hb_acquire_word(const atomic<std::uint32_t>&) noexcept {}
inline void hb_acquire_word(const atomic<std::int64_t>&) noexcept {}

#endif

}  // namespace weft::inline v0::rt::sanitizer
