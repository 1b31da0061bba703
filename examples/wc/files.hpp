// files.hpp — the regular files below a path, and their bytes; what cannot be read is named and counted.
#pragma once
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "tally.hpp"

namespace wc {

// Names what could not be read on standard error, in one line each. Any goroutine.
class complaints {
 public:
  void add(const std::string& path, int error);
  std::uint64_t count() const noexcept { return count_.load(); }

 private:
  std::atomic<std::uint64_t> count_{0};
};

// Calls `found` with every regular file at or below `path`, as `find PATH -type f` would: symbolic links are
// not followed, so there are no loops; a file with several names counts each time.
void walk(const std::string& path, complaints& errors, const std::function<void(std::string)>& found);

// Reads whole files through one buffer, whatever their size.
class reader {
 public:
  reader() : buffer_(std::make_unique<char[]>(buffer_size)) {}
  // Adds the file to `sum`, as far as it can be read, and the bytes to `progress` as they come.
  void read(const std::string& path, tally& sum, std::atomic<std::uint64_t>& progress, complaints& errors);

 private:
  static constexpr std::size_t buffer_size = 128 * 1024;
  std::unique_ptr<char[]> buffer_;
};

}  // namespace wc
