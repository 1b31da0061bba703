// print.hpp — text from places where stdio must not be called: inside the runtime, on sysmon, in handlers.
//
// A `printer` formats into a fixed buffer and writes it with one write(2) when it is flushed or destroyed, so
// a line of up to 1,000 bytes never mixes with another thread's. Longer text goes out in pieces; nothing is
// lost.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace weft::inline v0::rt {

class printer {
 public:
  explicit printer(int fd = 2) noexcept : fd_(fd) {}
  printer(const printer&) = delete;
  printer& operator=(const printer&) = delete;
  ~printer() { flush(); }

  printer& operator<<(std::string_view s) noexcept;
  printer& operator<<(const char* s) noexcept { return *this << std::string_view(s ? s : "(null)"); }
  printer& operator<<(char c) noexcept { return *this << std::string_view(&c, 1); }
  printer& operator<<(bool b) noexcept { return *this << (b ? "true" : "false"); }
  printer& operator<<(std::int64_t v) noexcept;
  printer& operator<<(std::uint64_t v) noexcept;
  printer& operator<<(int v) noexcept { return *this << static_cast<std::int64_t>(v); }
  printer& operator<<(unsigned v) noexcept { return *this << static_cast<std::uint64_t>(v); }
  printer& operator<<(long long v) noexcept { return *this << static_cast<std::int64_t>(v); }
  printer& operator<<(unsigned long long v) noexcept { return *this << static_cast<std::uint64_t>(v); }
  printer& operator<<(const void* p) noexcept { return hex(reinterpret_cast<std::uintptr_t>(p)); }
  printer& hex(std::uint64_t v) noexcept;   // 0x1f
  void flush() noexcept;

 private:
  int fd_;
  std::size_t used_ = 0;
  char buffer_[1000];
};

}  // namespace weft::inline v0::rt
