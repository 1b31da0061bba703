// files.hpp — file descriptors that close themselves, and the error of a system call as an exception.
#pragma once
#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>
#include <utility>

namespace unstoppable {

[[noreturn]] inline void throw_errno(const char* what) {
  throw std::system_error(errno, std::generic_category(), what);
}

class descriptor {
 public:
  explicit descriptor(int fd = -1) noexcept : fd_(fd) {}
  descriptor(descriptor&& other) noexcept : fd_(other.release()) {}
  descriptor& operator=(descriptor&& other) noexcept {
    close();
    fd_ = other.release();
    return *this;
  }
  ~descriptor() { close(); }
  int get() const noexcept { return fd_; }
  int release() noexcept { return std::exchange(fd_, -1); }
  void close() noexcept {
    if (fd_ >= 0) ::close(release());
  }

 private:
  int fd_;
};

struct pipe_ends {
  pipe_ends() {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) throw_errno("pipe2");
    reading = descriptor(ends[0]);
    writing = descriptor(ends[1]);
  }
  descriptor reading, writing;
};

}  // namespace unstoppable
