// write.cpp — getting text out, and the process down.
#include <errno.h>
#include <poll.h>
#include <time.h>

#include "os/linux/syscall.hpp"
#include "os/os.hpp"

namespace weft::inline v0::rt::os {

void write_all(int fd, const char* text, std::size_t n) noexcept {
  while (n > 0) {
    long written = system_call(SYS_write, fd, text, n);
    if (written > 0) {
      text += written;
      n -= static_cast<std::size_t>(written);
    } else if (written == -EAGAIN) {   // somebody made the terminal non-blocking: wait a little for room
      pollfd room{fd, POLLOUT, 0};
      timespec limit{1, 0};
      if (system_call(SYS_ppoll, &room, 1, &limit, nullptr, 0) == 0) return;
    } else if (written != -EINTR) {
      return;   // nobody is left to tell
    }
  }
}

void exit_process(int status) noexcept {
  for (;;) system_call(SYS_exit_group, status);
}

}  // namespace weft::inline v0::rt::os
