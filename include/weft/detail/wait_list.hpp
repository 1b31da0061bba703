// wait_list.hpp — a lock and a FIFO of parked goroutines: the waiting half of every sync type. 24 bytes,
// constexpr.
#pragma once
#include <cstddef>

#include "weft/detail/deadline.hpp"
#include "weft/detail/raw_lock.hpp"
#include "weft/detail/wait_queue.hpp"

namespace weft::inline v0::rt {
struct wait_list_access;   // src/wait/wait_list.hpp
}

namespace weft::inline v0::detail {

class wait_list {
 public:
  constexpr wait_list() noexcept = default;
  wait_list(const wait_list&) = delete;
  wait_list& operator=(const wait_list&) = delete;

  // For destructors: dies with "fatal error: KIND destroyed while goroutine N waits in it" when a live
  // goroutine still waits; waiters of a finished world are silent.
  void check_destroyed(const char* kind) noexcept {
    if (!seems_empty()) [[unlikely]] check_destroyed_slow(kind);
  }
  // Exact for whoever knows by other means that nobody comes or goes; else a hint.
  // [order] relaxed: as just said.
  bool seems_empty() const noexcept { return queue_.head.load(rt::relaxed) == nullptr; }

 private:
  friend struct rt::wait_list_access;
  void check_destroyed_slow(const char* kind) noexcept;

  rt::ranked_lock<rt::lock_rank::wait_list> lock_;
  rt::wait_queue queue_;
};

}  // namespace weft::inline v0::detail
