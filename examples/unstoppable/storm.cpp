// storm.cpp — blocks of 16 bytes to 512 KiB, small ones mostly: all of malloc's ways and locks are used.
#include "storm.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <stdexcept>

namespace unstoppable {

namespace {

class block {
 public:
  void renew(std::size_t size, unsigned char mark) {
    bytes_.reset(new unsigned char[size]);
    size_ = size;
    mark_ = mark;
    bytes_[0] = bytes_[size_ - 1] = mark;
  }
  bool is_as_written() const { return !bytes_ || (bytes_[0] == mark_ && bytes_[size_ - 1] == mark_); }

 private:
  std::unique_ptr<unsigned char[]> bytes_;
  std::size_t size_ = 0;
  unsigned char mark_ = 0;
};

bool allocate_until(const alarm& end) {
  std::array<block, 32> blocks;
  std::uint32_t random = 1;
  while (!end.rings()) {
    random = random * 1664525 + 1013904223;
    block& b = blocks[random >> 27];
    if (!b.is_as_written()) return false;
    const auto doublings = std::min(random >> 8 & 15, random >> 16 & 15);
    b.renew(std::size_t{16} << doublings, static_cast<unsigned char>(random >> 12));
  }
  return true;
}

}  // namespace

storm::storm(int goroutines, const alarm& end) {
  for (int i = 0; i < goroutines; ++i)
    all_.go([this, &end] {
      if (!allocate_until(end)) broken_.store(true);
    });
}

void storm::wait() const {
  all_.wait();
  if (broken_.load()) throw std::runtime_error("the contents of a block changed");
}

}  // namespace unstoppable
