// bitmap.hpp — a set of small numbers, one bit each.
#pragma once
#include <bit>
#include <cstdint>

namespace weft::inline v0::rt {

template <unsigned Capacity>
class bitmap {
 public:
  static constexpr unsigned capacity = Capacity;
  bool has(unsigned i) const noexcept { return words_[i / 64] >> (i % 64) & 1; }
  void add(unsigned i) noexcept { words_[i / 64] |= std::uint64_t{1} << (i % 64); }
  void remove(unsigned i) noexcept { words_[i / 64] &= ~(std::uint64_t{1} << (i % 64)); }
  void fill(unsigned count) noexcept { for (unsigned i = 0; i < count; ++i) add(i); }
  // Of a set that is not empty; `from`: nothing below it is in the set.
  unsigned lowest(unsigned from = 0) const noexcept {
    unsigned w = from / 64;
    while (words_[w] == 0) ++w;
    return w * 64 + static_cast<unsigned>(std::countr_zero(words_[w]));
  }
  unsigned highest() const noexcept {
    unsigned w = (capacity + 63) / 64 - 1;
    while (words_[w] == 0) --w;
    return w * 64 + 63 - static_cast<unsigned>(std::countl_zero(words_[w]));
  }

 private:
  std::uint64_t words_[(Capacity + 63) / 64] = {};
};

}  // namespace weft::inline v0::rt
