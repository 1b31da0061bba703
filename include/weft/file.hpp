// file.hpp — files on disk: reads and writes park the goroutine while the kernel does them (io_uring); where
// that is not to be had, a few threads block for all of them.
#pragma once
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "weft/detail/byte_stream.hpp"

namespace weft::inline v0 {

enum class open_mode : unsigned {
  read = 1,
  write = 2,
  append = 4,       // every write goes to the end
  create = 8,       // if it is not there
  exclusive = 16,   // and fail if it is
  truncate = 32,
  direct = 64,      // past the page cache: addresses, sizes and offsets are multiples of the disk's block
};
constexpr open_mode operator|(open_mode a, open_mode b) noexcept {
  return static_cast<open_mode>(static_cast<unsigned>(a) | static_cast<unsigned>(b));
}

// An open file. Reads and writes at an offset may run at once, in several goroutines; those without one share
// the file's position. All that reads, writes, opens or syncs parks the goroutine, or blocks a plain thread.
// It must outlive its calls. No deadlines: what the disk has been asked for cannot be taken back.
class file {
 public:
  file() noexcept = default;
  file(file&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  file& operator=(file&& other) noexcept {
    std::swap(number_, other.number_);
    return *this;
  }
  ~file() { close(); }

  // Throw std::system_error, or set `ec`. `permissions` of a file that is created.
  static file open(const std::filesystem::path& path, open_mode mode = open_mode::read,
                   unsigned permissions = 0666) {
    return detail::or_throw("open", [&](std::error_code& ec) { return open(path, mode, permissions, ec); });
  }
  static file open(const std::filesystem::path& path, open_mode mode, unsigned permissions,
                   std::error_code& ec);

  // How many bytes; fewer than asked for only at the end of the file.
  std::size_t read_at(detail::bytes into, std::uint64_t offset) {
    return detail::or_throw("read", [&](std::error_code& ec) { return read_at(into, offset, ec); });
  }
  std::size_t read_at(detail::bytes into, std::uint64_t offset, std::error_code& ec);
  std::size_t write_at(detail::const_bytes from, std::uint64_t offset) {
    return detail::or_throw("write", [&](std::error_code& ec) { return write_at(from, offset, ec); });
  }
  std::size_t write_at(detail::const_bytes from, std::uint64_t offset, std::error_code& ec);
  // At the file's position, which moves on.
  std::size_t read(detail::bytes into) {
    return detail::or_throw("read", [&](std::error_code& ec) { return read(into, ec); });
  }
  std::size_t read(detail::bytes into, std::error_code& ec);
  std::size_t write(detail::const_bytes from) {
    return detail::or_throw("write", [&](std::error_code& ec) { return write(from, ec); });
  }
  std::size_t write(detail::const_bytes from, std::error_code& ec);

  // Until it is on the disk; data_only: without times and the like (fdatasync).
  void sync(bool data_only = false) {
    std::error_code ec;
    detail::throw_if((sync(data_only, ec), ec), "fsync");
  }
  void sync(bool data_only, std::error_code& ec);
  std::uint64_t size() const;                        // throws std::system_error

  void close() noexcept;                             // does not park
  int native_handle() const noexcept { return number_; }   // -1: not open
  explicit operator bool() const noexcept { return number_ >= 0; }

 private:
  int number_ = -1;
};

// The names in a directory, without "." and "..", in no order. Parks; throws std::system_error.
std::vector<std::string> read_directory(const std::filesystem::path& path);

}  // namespace weft::inline v0
