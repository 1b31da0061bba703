// select_order.cpp — see select_order.hpp.
#include "chan/select_order.hpp"

#include <algorithm>
#include <functional>

namespace weft::inline v0::rt {
namespace {

constexpr std::uint32_t few = 12;   // up to here insertion beats the heap

struct by_address {
  const select_case* cases;
  bool operator()(std::uint32_t a, std::uint32_t b) const noexcept {
    return std::less<>()(cases[a].core, cases[b].core);
  }
};

}  // namespace

std::uint32_t make_poll_order(const select_case* cases, std::uint32_t n, const std::uint32_t* extra,
                              std::uint32_t* order, random_source& random) noexcept {
  std::uint32_t count = 0;
  auto insert = [&](std::uint32_t entry) noexcept {   // inside-out shuffle: each prefix is uniform
    const std::uint32_t at = count == 0 ? 0 : random.below(count + 1);
    if (at != count) order[count] = order[at];
    order[at] = entry;
    ++count;
  };
  for (std::uint32_t i = 0; i < n; ++i)
    if (cases[i].core) insert(i);
  if (extra) insert(*extra);
  return count;
}

void make_lock_order(const select_case* cases, std::uint32_t* order, std::uint32_t n) noexcept {
  const by_address less{cases};
  if (n > few) {
    std::make_heap(order, order + n, less);
    std::sort_heap(order, order + n, less);
    return;
  }
  for (std::uint32_t i = 1; i < n; ++i) {
    const std::uint32_t entry = order[i];
    std::uint32_t at = i;
    for (; at > 0 && less(entry, order[at - 1]); --at) order[at] = order[at - 1];
    order[at] = entry;
  }
}

}  // namespace weft::inline v0::rt
