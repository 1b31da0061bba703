// note.hpp — one thread sleeps until another wakes it; a wake that comes first is kept.
//
//   0 clear --wake()--> 1 set --(sleep returns)--> 0 clear
//
// One sleeper at a time; any number of wakers; wakes do not add up.
#pragma once
#include "base/atomic.hpp"
#include "os/os.hpp"

namespace weft::inline v0::rt {

class note {
 public:
  // Returns true when woken, false at the deadline (absolute, os::nanotime).
  bool sleep(std::int64_t deadline = os::forever) noexcept;
  void wake() noexcept;
  void clear() noexcept { word_.store(0, relaxed); }  // [order] relaxed: only while nobody may wake it

 private:
  atomic<std::uint32_t> word_{0};
};

}  // namespace weft::inline v0::rt
