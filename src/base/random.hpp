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
    __extension__ using wide = unsigned __int128;
    wide m = static_cast<wide>(state_) * (state_ ^ 0xe7037ed1a0b428dbull);
    return static_cast<std::uint64_t>(m >> 64) ^ static_cast<std::uint64_t>(m);
  }
  // Uniform in [0, n), n > 0; the bias of 2^-32 is of no account here.
  std::uint32_t below(std::uint32_t n) noexcept {
    std::uint64_t low = static_cast<std::uint32_t>(next());
    return static_cast<std::uint32_t>(low * n >> 32);
  }

 private:
  std::uint64_t state_;
};

// The numbers coprime to n and not above it, for each n up to 64, computed by the compiler. Above that
// visit_order looks for one itself.
struct coprime_table {
  static constexpr std::uint32_t largest = 64;
  std::uint16_t begin[largest + 2] = {};   // those of n are number[begin[n]] .. number[begin[n + 1] - 1]
  std::uint8_t number[1280] = {};
  constexpr coprime_table() {
    std::uint16_t used = 0;
    for (std::uint32_t n = 1; n <= largest; ++n) {
      begin[n] = used;
      for (std::uint32_t i = 1; i <= n; ++i)
        if (std::gcd(i, n) == 1) number[used++] = static_cast<std::uint8_t>(i);
    }
    begin[largest + 1] = used;
  }
};
inline constexpr coprime_table coprimes;

// Visits 0..count-1 once each, from a random start with a random stride coprime to count (Go's randomOrder).
// Seeds from 0 to count * (number of strides) - 1 give different pairs of start and stride, up to 64; larger
// ones repeat.
class visit_order {
 public:
  visit_order(std::uint32_t count, std::uint64_t seed) noexcept : count_(count), left_(count) {
    auto s = static_cast<std::uint32_t>(seed ^ seed >> 32);   // 32-bit divisions are several times faster
    position_ = s % count;
    s /= count;
    if (count <= coprime_table::largest) {
      std::uint32_t first = coprimes.begin[count], strides = coprimes.begin[count + 1] - first;
      stride_ = coprimes.number[first + s % strides];
    } else {
      stride_ = 1 + s % (count - 1);
      while (std::gcd(stride_, count) != 1) stride_ = stride_ % (count - 1) + 1;
    }
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
