// stack.hpp — goroutine stacks: reserved in slabs, guarded, recycled, given back.
//
//   slab of 64 MiB:  | guard | stack 0 ........ top | guard | stack 1 ........ top | ...
//
// A stack of `size` bytes takes `size` of address space, its lowest 64 KiB (or a quarter if smaller) being
// the guard. Nothing is committed until it is touched; a parked goroutine keeps one page. Tops are coloured:
// the usable top lies 0 to 31 cache lines below the real one, by stack number, so that a thousand parked
// frames do not fall into the same cache sets, and at least 2 KiB of the first page are left. And a stack has
// an odd number of pages, for the TLB's sets: 64 pages apart, a thousand of them shared a sixteenth of those.
//
//   in the kernel --carve--> handed out <--> a P's cache
//                               ^  |            | when full
//        clean (no pages) <--scavenge-- dirty <-+
//
// I1  a stack is owned by exactly one goroutine, or by one cache, or lies free in its slab
// I2  the default class comes from slabs (stack_slab.cpp); any other size from a mapping of its own, also
//     recycled (stack_large.cpp)
// I3  no function here blocks on anything but the `slab` lock, and none calls malloc: all of them may be
//     called inside the runtime
// I4  the guard is set once, when a stack is first handed out, and stays
//
// The guard ladder (stack_guard.cpp): MADV_GUARD_INSTALL if it works (probed by effect), else mprotect while
// fewer than 80 % of vm.max_map_count mappings are in use, else the guard region itself is the canary:
// whether somebody has touched its pages is looked at when the stack comes back and in stack_check(), with
// one warning on stderr.
#pragma once
#include <cstddef>
#include <cstdint>

namespace weft::inline v0::rt {

struct stack {
  std::byte* bottom = nullptr;   // lowest usable byte: the end of the guard
  std::byte* top = nullptr;      // one past the highest usable byte, coloured, 64-byte aligned
  std::uint32_t reserved = 0;    // bytes of address space, in pages
  std::uint32_t number = 0;      // index in its size class, for colouring and for finding its slab
  explicit operator bool() const noexcept { return top != nullptr; }
  std::size_t size() const noexcept { return static_cast<std::size_t>(top - bottom); }
};

struct stack_limits {
  std::size_t default_size = 256 * 1024;        // WEFT_STACK
  bool strict_guards = false;                   // WEFT_STACKGUARD=strict: hand out no unguarded stack
};
// Once, before the first stack, outside. Later calls are ignored.
void stack_init(const stack_limits& limits) noexcept;
std::size_t stack_default_size() noexcept;

// A stack with at least `size` usable bytes (0: the default). Empty when address space, memory or (strict)
// guards have run out: the caller decides what that means (src/sched/stackless.cpp).
stack stack_allocate(std::size_t size) noexcept;
void stack_free(stack s) noexcept;

// For stacks that no guard protects (nothing to do for the others): dies with the overflow report when the
// guard region was touched. Called at a park through g0; costs one load while every stack is guarded.
void stack_check(const stack& s) noexcept;

// A P's own few default stacks: no lock on the way (owner only).
class stack_cache {
 public:
  stack take() noexcept;              // refills half from the slabs; empty stack when there is none
  void give(stack s) noexcept;        // default size only; moves half to the slabs when full
  void drain() noexcept;              // all to the slabs: a P is destroyed or idle for long
  std::size_t size() const noexcept { return size_; }
  static constexpr std::size_t capacity = 64;

 private:
  stack cached_[capacity];
  std::size_t size_ = 0;
};

// Gives pages of free stacks back to the kernel: those that nobody needed for half a second, a whole free
// slab with one call, at most `budget_ns` of time. Called on the helper thread, about every 100 ms; again
// soon while it returns more than 0: the bytes of address space it has looked after.
std::size_t stack_scavenge(std::int64_t budget_ns) noexcept;

// Of a stack on which nobody runs: gives back the pages below `sp`. How many bytes of address space.
std::size_t stack_trim(const stack& s, const void* sp) noexcept;

struct stack_counts {
  std::size_t in_use;        // handed out and not returned (cached ones included)
  std::size_t reserved;      // ever carved
  std::size_t unguarded;
  std::size_t dirty;         // free, and with pages
};
stack_counts stack_statistics() noexcept;

// True when `address` lies in the guard of a stack; fills in that stack. For the SIGSEGV handler: no lock.
bool stack_guard_hit(const void* address, stack& which) noexcept;

// Alternate signal stacks: at least max(64 KiB, 4 x AT_MINSIGSTKSZ). install_ on each M at its start,
// outside. A thread that has one already keeps it.
void install_alternate_stack() noexcept;
void remove_alternate_stack() noexcept;
// SIGSEGV and SIGBUS: a hit in a guard prints Go's text through `report` (sched supplies goroutine and limit)
// and ends the process; anything else goes to the handler that was there before. Once per process. `ucontext`
// is null when an overflow was found without a fault.
using overflow_report = void (*)(const stack& which, const void* address, const void* ucontext) noexcept;
void install_overflow_handler(overflow_report report) noexcept;

}  // namespace weft::inline v0::rt
