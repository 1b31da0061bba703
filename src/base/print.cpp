// print.cpp — numbers to text, and the buffer.
#include "base/print.hpp"

#include <string.h>

#include <algorithm>

#include "os/os.hpp"

namespace weft::inline v0::rt {

printer& printer::operator<<(std::string_view s) noexcept {
  // A piece that does not fit whole starts a new write, so that it stays whole if it can.
  if (s.size() > sizeof buffer_ - used_) flush();
  while (!s.empty()) {
    std::size_t n = std::min(s.size(), sizeof buffer_ - used_);
    memcpy(buffer_ + used_, s.data(), n);
    used_ += n;
    s.remove_prefix(n);
    if (!s.empty()) flush();
  }
  return *this;
}

printer& printer::operator<<(std::uint64_t v) noexcept {
  char digits[20];
  char* p = digits + sizeof digits;
  do *--p = static_cast<char>('0' + v % 10);
  while (v /= 10);
  return *this << std::string_view(p, static_cast<std::size_t>(digits + sizeof digits - p));
}

printer& printer::operator<<(std::int64_t v) noexcept {
  if (v >= 0) return *this << static_cast<std::uint64_t>(v);
  return *this << '-' << (0 - static_cast<std::uint64_t>(v));   // unsigned: INT64_MIN has no positive twin
}

printer& printer::hex(std::uint64_t v) noexcept {
  char digits[16];
  char* p = digits + sizeof digits;
  do *--p = "0123456789abcdef"[v % 16];
  while (v /= 16);
  return *this << "0x" << std::string_view(p, static_cast<std::size_t>(digits + sizeof digits - p));
}

void printer::flush() noexcept {
  os::write_all(fd_, buffer_, used_);
  used_ = 0;
}

}  // namespace weft::inline v0::rt
