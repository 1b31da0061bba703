// dice.hpp — random numbers of one's own: what a goroutine does then follows from its seed.
#pragma once
#include <chrono>
#include <cstddef>
#include <cstdint>

namespace weft_test {

// Small, and good enough to mix things: splitmix64.
class dice {
 public:
  explicit dice(std::uint64_t seed) : state_(seed * 0x9e3779b97f4a7c15u + 1) {}
  std::uint64_t next() {
    std::uint64_t z = (state_ += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }
  int below(int n) { return static_cast<int>(next() % static_cast<std::uint64_t>(n)); }
  std::size_t index(std::size_t size) { return static_cast<std::size_t>(next() % size); }
  bool one_in(int n) { return below(n) == 0; }
  std::chrono::microseconds micros_below(int n) { return std::chrono::microseconds(below(n)); }

 private:
  std::uint64_t state_;
};

}  // namespace weft_test
