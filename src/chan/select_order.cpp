// select_order.cpp — see select_order.hpp.
#include "chan/select_order.hpp"

#include <algorithm>
#include <functional>
#include <utility>

namespace weft::inline v0::rt {
namespace {

constexpr std::uint32_t few = 12;   // up to here insertion beats sorting
constexpr std::less<> before;

[[gnu::noinline]] std::uint32_t sort_many(const select_case* cases, std::uint32_t n,
                                          chan_core** order) noexcept {
  std::uint32_t count = 0;
  for (std::uint32_t i = 0; i < n; ++i)
    if (cases[i].core) order[count++] = cases[i].core;
  std::sort(order, order + count, before);
  return static_cast<std::uint32_t>(std::unique(order, order + count) - order);
}

}  // namespace

std::uint32_t make_poll_order(const select_case* cases, std::uint32_t n, const std::uint32_t* extra,
                              std::uint32_t* order, random_source& random) noexcept {
  if (n == 2 && !extra && cases[0].core && cases[1].core) {   // the usual select, by a tenth
    order[0] = static_cast<std::uint32_t>(random.next() & 1);
    order[1] = order[0] ^ 1;
    return 2;
  }
  std::uint32_t count = 0;
  auto insert = [&](std::uint32_t entry) noexcept {   // inside-out shuffle: each prefix is uniform
    order[count] = entry;
    // Always a swap, of one with itself perhaps: that branch could not be predicted.
    if (count != 0) std::swap(order[count], order[random.below(count + 1)]);
    ++count;
  };
  for (std::uint32_t i = 0; i < n; ++i)
    if (cases[i].core) insert(i);
  if (extra) insert(*extra);
  return count;
}

// By insertion: the channels of a select are few, and mostly named in the order in which they were made.
std::uint32_t make_lock_order(const select_case* cases, std::uint32_t n, chan_core** order) noexcept {
  if (n == 2 && before(cases[0].core, cases[1].core) && cases[0].core) {   // the usual select
    order[0] = cases[0].core;
    order[1] = cases[1].core;
    return 2;
  }
  if (n > few) return sort_many(cases, n, order);
  std::uint32_t count = 0;
  for (std::uint32_t i = 0; i < n; ++i) {
    chan_core* c = cases[i].core;
    std::uint32_t at = count;
    while (at > 0 && before(c, order[at - 1])) --at;
    if (!c || (at > 0 && order[at - 1] == c)) continue;
    for (std::uint32_t from = count++; from > at; --from) order[from] = order[from - 1];
    order[at] = c;
  }
  return count;
}

}  // namespace weft::inline v0::rt
