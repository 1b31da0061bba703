// maps.cpp — /proc/self/maps, a line at a time. Lines longer than the buffer (paths of more than 3 KiB) are
// cut.
#include "os/linux/maps.hpp"

#include <fcntl.h>
#include <string.h>

#include <algorithm>

#include "os/linux/syscall.hpp"

namespace weft::inline v0::rt::os {
namespace {

class reader {
 public:
  reader() noexcept
      : fd_(static_cast<int>(system_call(SYS_openat, AT_FDCWD, "/proc/self/maps", O_RDONLY | O_CLOEXEC))) {}
  ~reader() {
    if (fd_ >= 0) system_call(SYS_close, fd_);
  }
  reader(const reader&) = delete;
  reader& operator=(const reader&) = delete;

  // The next line without its end, valid until the next call; false at the end.
  bool next(std::string_view& line) noexcept {
    if (fd_ < 0) return false;
    for (;;) {
      std::string_view unread(buffer_ + used_, filled_ - used_);
      if (std::size_t end = unread.find('\n'); end != unread.npos || unread.size() == sizeof buffer_) {
        line = unread.substr(0, end);
        used_ += line.size() + (end != unread.npos);
        return true;
      }
      memmove(buffer_, unread.data(), unread.size());
      filled_ = unread.size();
      used_ = 0;
      long n = system_call(SYS_read, fd_, buffer_ + filled_, sizeof buffer_ - filled_);
      if (n <= 0) return false;
      filled_ += static_cast<std::size_t>(n);
    }
  }

 private:
  int fd_;
  std::size_t used_ = 0, filled_ = 0;
  char buffer_[4096];
};

std::uintptr_t take_hex(std::string_view& text) noexcept {
  std::uintptr_t value = 0;
  while (!text.empty()) {
    char c = text.front();
    if (c >= '0' && c <= '9') value = value * 16 + static_cast<unsigned>(c - '0');
    else if (c >= 'a' && c <= 'f') value = value * 16 + static_cast<unsigned>(c - 'a' + 10);
    else break;
    text.remove_prefix(1);
  }
  return value;
}

// "55d0-55d1 r-xp 00000000 08:01 1234     /usr/bin/app"
bool parse(std::string_view line, mapping& m) noexcept {
  m.start = take_hex(line);
  if (line.empty() || line.front() != '-') return false;
  line.remove_prefix(1);
  m.end = take_hex(line);
  if (line.size() < 5) return false;
  m.writable = line[2] == 'w';
  m.executable = line[3] == 'x';
  for (int field = 0; field < 4; ++field) {
    line.remove_prefix(std::min(line.find_first_not_of(' '), line.size()));
    line.remove_prefix(std::min(line.find(' '), line.size()));
  }
  line.remove_prefix(std::min(line.find_first_not_of(' '), line.size()));
  m.name = line;
  return true;
}

}  // namespace

void for_each_mapping(bool (*see)(const mapping& m, void* arg) noexcept, void* arg) noexcept {
  reader lines;
  std::string_view line;
  for (mapping m; lines.next(line);) {
    if (parse(line, m) && !see(m, arg)) return;
  }
}

}  // namespace weft::inline v0::rt::os
