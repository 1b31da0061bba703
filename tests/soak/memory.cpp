// memory.cpp — blocks of all sizes, small ones mostly; and such that each call takes the arena's lock.
#include <algorithm>

#include "kit.hpp"

namespace soak {

namespace {

constexpr int calls = 64;             // of malloc, each time

void renew_one(kit& mine, std::size_t size) {
  block& b = mine.blocks[mine.random.index(mine.blocks.size())];
  require(b.is_as_written(), "the contents of a block changed");
  b.renew(size, static_cast<unsigned char>(mine.random.next()));
}

}  // namespace

void allocate(kit& mine) {
  for (int i = 0; i < calls; ++i) {
    const std::uint64_t r = mine.random.next();
    const auto doublings = std::min(r >> 8 & 15, r >> 16 & 15);
    renew_one(mine, (std::size_t{16} << doublings) + (r >> 24 & 15));
  }
}

void allocate_large(kit& mine) {
  for (int i = 0; i < calls; ++i) renew_one(mine, 1100 + mine.random.index(3000));
}

}  // namespace soak
