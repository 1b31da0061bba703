// stream.cpp — see stream.hpp.
#include "net/stream.hpp"

#include <sys/socket.h>
#include <unistd.h>

namespace weft::inline v0::rt {
namespace {

// What the kernel cannot poll it may make us wait for.
template <class Call>
ssize_t maybe_blocking(const poll_desc& d, Call&& call) {
  return d.is_watched() ? call() : blocking(call);
}

std::size_t read_once(poll_desc& d, detail::bytes into, const detail::wait_limits& limits,
                      std::error_code& ec, stream_kind kind) {
  const auto read = [&](int fd) {
    return maybe_blocking(d, [&] { return ::read(fd, into.data(), into.size()); });
  };
  const std::size_t expected = kind == stream_kind::socket ? into.size() : 0;
  const ssize_t n = attempt(d, d.read, limits, ec, read, expected);
  return n < 0 ? 0 : static_cast<std::size_t>(n);
}

std::size_t write_once(poll_desc& d, detail::const_bytes from, const detail::wait_limits& limits,
                       std::error_code& ec, stream_kind kind) {
  const auto write = [&](int fd) {
    return maybe_blocking(d, [&] {
      return kind == stream_kind::socket ? ::send(fd, from.data(), from.size(), MSG_NOSIGNAL)
                                         : ::write(fd, from.data(), from.size());
    });
  };
  const ssize_t n = attempt(d, d.write, limits, ec, write);
  return n < 0 ? 0 : static_cast<std::size_t>(n);
}

class write_turn {
 public:
  write_turn(poll_desc& d, const detail::wait_limits& limits, std::error_code& ec)
      : turn_(d.write_turn), has_(detail::lock_within(turn_, limits)) {
    if (!has_) ec = limits.stop != nullptr && limits.stop->stop_requested() ? errc::stopped : errc::timed_out;
  }
  ~write_turn() {
    if (has_) turn_.unlock();
  }
  write_turn(const write_turn&) = delete;
  write_turn& operator=(const write_turn&) = delete;
  explicit operator bool() const noexcept { return has_; }

 private:
  mutex& turn_;
  bool has_;
};

}  // namespace

std::size_t read_stream(poll_desc* d, detail::bytes into, const detail::wait_limits& limits,
                        std::error_code& ec, stream_kind kind) {
  const use_of_fd use(d);
  ec.clear();
  if (use.get() == nullptr) ec = errc::fd_closed;
  return ec || into.empty() ? 0 : read_once(*d, into, limits, ec, kind);
}

std::size_t write_stream(poll_desc* d, detail::const_bytes from, const detail::wait_limits& limits,
                         std::error_code& ec, stream_kind kind) {
  const use_of_fd use(d);
  ec.clear();
  if (use.get() == nullptr) ec = errc::fd_closed;
  if (ec || from.empty()) return 0;
  const write_turn turn(*d, limits, ec);
  return turn ? write_once(*d, from, limits, ec, kind) : 0;
}

std::size_t write_whole(poll_desc* d, detail::const_bytes from, const detail::wait_limits& limits,
                        std::error_code& ec, stream_kind kind) {
  const use_of_fd use(d);
  ec.clear();
  if (use.get() == nullptr) ec = errc::fd_closed;
  if (ec || from.empty()) return 0;
  const write_turn turn(*d, limits, ec);
  std::size_t done = 0;
  while (turn && !ec && done < from.size()) done += write_once(*d, from.subspan(done), limits, ec, kind);
  return done;
}

}  // namespace weft::inline v0::rt
