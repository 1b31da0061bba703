// foreign_wait.hpp — one wait for a descriptor that is not Weft's: told of once, and forgotten afterwards.
#pragma once
#include "netpoll/poll_desc.hpp"

namespace weft::inline v0::rt {

class foreign_wait {                                 // all of it outside
 public:
  foreign_wait(int fd, bool write) noexcept;
  ~foreign_wait();
  foreign_wait(const foreign_wait&) = delete;
  foreign_wait& operator=(const foreign_wait&) = delete;
  int error() const noexcept { return error_; }      // a negative errno: it cannot be waited for
  ready_by park(const detail::wait_limits& limits);

 private:
  poll_direction& direction() noexcept { return write_ ? desc_->write : desc_->read; }

  bool write_;
  int error_;
  int watched_ = -1, duplicate_ = -1;                // watched: the descriptor, or a duplicate
  bool always_ready_ = false;                        // a file
  poll_desc* desc_ = nullptr;
};

}  // namespace weft::inline v0::rt
