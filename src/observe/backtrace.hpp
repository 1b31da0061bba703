// backtrace.hpp — the return addresses of a stack, innermost first: of the caller, interrupted or parked.
//
// I1  of a long stack the 50 innermost and the 50 outermost frames are kept, and how many lie between them
// I2  no memory and no lock: the unwinder of libgcc 12 finds its tables through _dl_find_object (glibc 2.35)
// I3  a walk that faults (the stack is corrupt, or its goroutine runs meanwhile) keeps what it found; needs
//     a walk_guard, which a dump has
#pragma once
#include <cstddef>
#include <cstdint>

#include "context/context.hpp"

namespace weft::inline v0::rt {

class backtrace {
 public:
  struct frame {
    const void* pc;
    bool exact;                 // the interrupted instruction itself; otherwise where a call returns to
  };
  static constexpr std::size_t innermost_kept = 50, outermost_kept = 50;

  // Each replaces what was there. The first frame is the caller, or the instruction that `fault_context` (a
  // ucontext_t*, may be null) has interrupted.
  void walk_here(const void* fault_context) noexcept;
  void walk_parked(const context& of) noexcept;

  std::size_t shown() const noexcept;
  std::size_t elided() const noexcept { return total_ - shown(); }
  static constexpr std::size_t elided_after = innermost_kept;   // they lie after that many
  frame operator[](std::size_t i) const noexcept;               // of the shown ones

  void clear() noexcept { total_ = 0; }
  void add(frame f) noexcept;

 private:
  std::size_t total_ = 0;
  frame innermost_[innermost_kept];
  frame outermost_[outermost_kept];   // a ring of the last ones seen
};

// While one exists, a fault inside a walk ends the walk, on whatever thread. One walk at a time.
class walk_guard {
 public:
  walk_guard() noexcept;
  ~walk_guard();
  walk_guard(const walk_guard&) = delete;
  walk_guard& operator=(const walk_guard&) = delete;
};

}  // namespace weft::inline v0::rt
