// random.hpp — a small fast generator per M, and a visit order that sees every P once.
#pragma once
#include <cstdint>
#include <numeric>

namespace weft::inline v0::rt {

class random_source {   // wyrand-like: one multiply a number; not for cryptography
 public:
  explicit random_source(std::uint64_t seed = 1) noexcept : state_(seed) {}
  std::uint64_t next() noexcept {
    state_ += 0xa0761d6478bd642full;
    unsigned __int128 m = static_cast<unsigned __int128>(state_) * (state_ ^ 0xe7037ed1a0b428dbull);
    return static_cast<std::uint64_t>(m >> 64) ^ static_cast<std::uint64_t>(m);
  }
  // Uniform in [0, n), n > 0; the bias of 2^-32 is of no account here.
  std::uint32_t below(std::uint32_t n) noexcept {
    return static_cast<std::uint32_t>((static_cast<std::uint64_t>(static_cast<std::uint32_t>(next())) * n) >> 32);
  }

 private:
  std::uint64_t state_;
};

// Visits 0..count-1 once each, from a random start with a random stride coprime to count (Go's randomOrder).
class visit_order {
 public:
  visit_order(std::uint32_t count, std::uint64_t seed) noexcept : count_(count), left_(count) {
    position_ = static_cast<std::uint32_t>(seed % count);
    std::uint32_t stride = static_cast<std::uint32_t>((seed >> 32) % count) | 1;
    while (std::gcd(stride, count) != 1) stride += 2;
    stride_ = stride % count == 0 ? 1 : stride % count;
  }
  bool done() const noexcept { return left_ == 0; }
  std::uint32_t position() const noexcept { return position_; }
  void next() noexcept {
    --left_;
    position_ = (position_ + stride_) % count_;
  }
  std::uint32_t stride() const noexcept { return stride_; }

 private:
  std::uint32_t count_, left_, position_, stride_;
};

}  // namespace weft::inline v0::rt
