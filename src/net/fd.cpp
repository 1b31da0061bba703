// fd.cpp — weft::fd: a descriptor of any kind.
#include "weft/fd.hpp"

#include <fcntl.h>
#include <unistd.h>

#include "net/io.hpp"
#include "net/stream.hpp"
#include "netpoll/foreign_wait.hpp"
#include "netpoll/netpoll.hpp"
#include "sched/inside.hpp"

namespace weft::inline v0 {

using namespace rt;

namespace rt {

std::error_code why_not(ready_by by) noexcept {
  switch (by) {
    case ready_by::timeout: return errc::timed_out;
    case ready_by::stop: return errc::stopped;
    case ready_by::close: return errc::fd_closed;
    case ready_by::kernel: break;
  }
  return {};
}

}  // namespace rt

namespace detail {

void throw_io_error(const std::error_code& ec, const char* what) { throw std::system_error(ec, what); }
void note_end_of_stream(std::error_code& ec) noexcept { ec = errc::end_of_stream; }

fd_handle::~fd_handle() {
  if (open_ == nullptr) return;
  open_->close();
  open_->disown();
}

int fd_handle::number() const noexcept { return open_ != nullptr && !open_->is_closing() ? open_->fd() : -1; }

void fd_handle::close() noexcept {
  if (open_ != nullptr) open_->close();
}

void fd_handle::set_read_deadline(std::int64_t deadline) noexcept {
  if (open_ == nullptr) return;
  inside in;
  open_->read.set_deadline(deadline);
}

void fd_handle::set_write_deadline(std::int64_t deadline) noexcept {
  if (open_ == nullptr) return;
  inside in;
  open_->write.set_deadline(deadline);
}

}  // namespace detail

void detail::wait_foreign(int number, bool write, const wait_limits& limits, std::error_code& ec) {
  ec.clear();
  foreign_wait wait(number, write);
  if (wait.error() < 0)
    ec = {-wait.error(), std::system_category()};
  else
    ec = why_not(wait.park(limits));
}

bool detail::foreign_is_ready(int number, bool write, std::int64_t deadline) {
  std::error_code ec;
  wait_foreign(number, write, {deadline, nullptr}, ec);
  if (ec == errc::timed_out) return false;
  throw_if(ec, write ? "wait_writable" : "wait_readable");
  return true;
}

fd::fd(int number) {
  const int flags = fcntl(number, F_GETFL);
  if (flags < 0 || (!(flags & O_NONBLOCK) && fcntl(number, F_SETFL, flags | O_NONBLOCK) < 0))
    throw std::system_error(last_error(), "fd");
  int error;
  poll_desc* d = netpoll_open(number, error);
  if (d == nullptr) throw std::system_error({-error, std::system_category()}, "fd");
  handle_ = detail::fd_handle(d);
}

std::size_t fd::read_within(detail::bytes into, const detail::wait_limits& limits, std::error_code& ec) {
  return read_stream(handle_.get(), into, limits, ec, stream_kind::any);
}
std::size_t fd::write_within(detail::const_bytes from, const detail::wait_limits& limits,
                             std::error_code& ec) {
  return write_stream(handle_.get(), from, limits, ec, stream_kind::any);
}
std::size_t fd::write_all_within(detail::const_bytes from, const detail::wait_limits& limits,
                                 std::error_code& ec) {
  return write_whole(handle_.get(), from, limits, ec, stream_kind::any);
}

}  // namespace weft::inline v0
