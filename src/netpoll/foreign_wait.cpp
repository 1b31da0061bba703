// foreign_wait.cpp — see foreign_wait.hpp.
//
// The kernel knows a descriptor once in a set. When two goroutines wait for the same one, to read and to
// write perhaps, the second waits for a duplicate of it.
#include "netpoll/foreign_wait.hpp"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "netpoll/netpoll.hpp"
#include "sched/inside.hpp"

namespace weft::inline v0::rt {

foreign_wait::foreign_wait(int fd, bool write) noexcept : write_(write), error_(netpoll_start()) {
  if (error_ < 0) return;
  {
    inside in;
    desc_ = take_poll_desc();
  }
  error_ = -ENOMEM;
  if (desc_ == nullptr) return;
  desc_->begin(fd, false);
  direction().note_drained(direction().edges());     // the kernel is asked by watching, not by an attempt
  error_ = backend::watch_once(fd, desc_->token(), write);
  watched_ = fd;
  if (error_ == -EEXIST) {
    duplicate_ = watched_ = ::fcntl(fd, F_DUPFD_CLOEXEC, 0);
    error_ = duplicate_ >= 0 ? backend::watch_once(duplicate_, desc_->token(), write) : -errno;
  }
  always_ready_ = error_ == -EPERM;
  if (always_ready_) error_ = 0;
}

foreign_wait::~foreign_wait() {
  if (error_ == 0 && !always_ready_) backend::forget(watched_);
  if (duplicate_ >= 0) ::close(duplicate_);
  if (desc_ != nullptr) desc_->recycle();
}

ready_by foreign_wait::park(const detail::wait_limits& limits) {
  if (always_ready_) return ready_by::kernel;
  const ready_by by = direction().check(limits);
  return by == ready_by::kernel ? direction().wait(limits, *desc_) : by;
}

}  // namespace weft::inline v0::rt
