// io.hpp — one operation on a descriptor: try, and park while the kernel has nothing to do for it.
//
//   use the descriptor (or it is closed)
//   there may be something?  yes: call; EAGAIN: now there is not
//                            no: park until there is, the deadline, a stop request, close()
//
// The call is made outside the runtime: it may touch memory that is not there.
#pragma once
#include <errno.h>
#include <sys/types.h>

#include <system_error>

#include "netpoll/poll_desc.hpp"
#include "weft/blocking.hpp"
#include "weft/error.hpp"

namespace weft::inline v0::rt {

class use_of_fd {
 public:
  explicit use_of_fd(poll_desc* d) noexcept : d_(d != nullptr && d->begin_use() ? d : nullptr) {}
  ~use_of_fd() {
    if (d_ != nullptr) d_->end_use();
  }
  use_of_fd(const use_of_fd&) = delete;
  use_of_fd& operator=(const use_of_fd&) = delete;
  poll_desc* get() const noexcept { return d_; }     // null: it is closed

 private:
  poll_desc* d_;
};

std::error_code why_not(ready_by by) noexcept;       // net/fd.cpp
inline std::error_code last_error() noexcept { return {errno, std::system_category()}; }

// `call(fd)` returns what a system call does, with errno. Negative: `ec` says why. Less than `expected`, and
// not nothing, means that nothing is left (a stream, read; 0: that proves nothing).
template <class Call>
ssize_t attempt(poll_desc& d, poll_direction& direction, const detail::wait_limits& limits,
                std::error_code& ec, Call&& call, std::size_t expected = 0) {
  ready_by by = direction.check(limits);
  while (by == ready_by::kernel) {
    if (direction.may_be_ready()) {
      const std::uint32_t seen = direction.edges();
      const ssize_t n = call(d.fd());
      if (n >= 0) {
        if (n > 0 && static_cast<std::size_t>(n) < expected) direction.note_short(seen);
        return n;
      }
      if (errno == EINTR) continue;
      if (errno != EAGAIN) {
        ec = last_error();
        return -1;
      }
      direction.note_drained(seen);
    }
    by = direction.wait(limits, d);
  }
  ec = why_not(by);
  return -1;
}

}  // namespace weft::inline v0::rt
