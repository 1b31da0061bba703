// note.hpp — one thread sleeps until another wakes it; a wake that comes first is kept.
//
//   clear ──wake()──> set ──sleep() returns──> clear
//     └──sleep()──> asleep ──wake(), or the deadline──> set, or clear
//
// One sleeper at a time; any number of wakers; wakes do not add up. Only the wake of one who is asleep is a
// system call.
#pragma once
#include "base/atomic.hpp"
#include "os/os.hpp"

namespace weft::inline v0::rt {

class note {
 public:
  // Returns true when woken, false at the deadline (absolute, os::nanotime).
  bool sleep(std::int64_t deadline = os::forever) noexcept;
  void wake() noexcept;
  void clear() noexcept { word_.store(clear_, relaxed); }  // [order] relaxed: only while nobody may wake it

 private:
  enum : std::uint32_t { clear_, set, asleep };
  atomic<std::uint32_t> word_{clear_};
};

}  // namespace weft::inline v0::rt
