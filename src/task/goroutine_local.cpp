// goroutine_local.cpp — per goroutine, a table of values; per variable, a place in all those tables.
//
//   variable.id = serial << 12 | place          goroutine.locals -> [place] {id, value, destroy, age}
//
// I1  a table belongs to its goroutine: no lock, and touched outside the runtime only (values are user types)
// I2  an entry is the variable's value  <=>  their ids are equal; a destroyed variable's place is given to
//     another with a higher serial, and the entry that it left behind dies at the newcomer's first access or
//     with its goroutine
// I3  serials never wrap: 2^52 variables
//
// Called from any goroutine or thread; end_goroutine_locals() by a spawned goroutine before it tells its
// joiner, and through sched's port at the end of every other one (and of a plain thread).
#include "task/goroutine_local.hpp"

#include <algorithm>
#include <bit>
#include <new>
#include <stdexcept>
#include <utility>
#include <vector>

#include "sched/fork.hpp"
#include "sched/inside.hpp"
#include "sched/park.hpp"
#include "sched/ports.hpp"
#include "weft/goroutine_local.hpp"

namespace weft::inline v0::rt {

struct goroutine_locals {
  struct entry {
    std::uint64_t id = 0;                     // 0: none
    void* value = nullptr;
    void (*destroy)(void*) noexcept = nullptr;
    std::uint64_t age = 0;                    // order of construction
  };
  std::vector<entry> entries;
  std::uint64_t constructed = 0;
};

namespace {

constexpr unsigned place_bits = 12;
constexpr std::uint64_t place_mask = (1u << place_bits) - 1;

// Which places are in use. Place 0 stays unused, so no id is 0.
class place_map {
 public:
  std::uint64_t take() noexcept {   // an id, or 0: all are in use
    locked guard(lock_);
    for (std::size_t i = 0; i < std::size(used_); ++i) {
      const std::uint64_t free = ~used_[i] & (i == 0 ? ~std::uint64_t{1} : ~std::uint64_t{0});
      if (free == 0) continue;
      const unsigned bit = static_cast<unsigned>(std::countr_zero(free));
      used_[i] |= std::uint64_t{1} << bit;
      return ++serial_ << place_bits | (i * 64 + bit);
    }
    return 0;
  }
  void give_back(std::uint64_t id) noexcept {
    locked guard(lock_);
    used_[(id & place_mask) / 64] &= ~(std::uint64_t{1} << (id & 63));
  }

 private:
  ranked_lock<lock_rank::leaf> lock_;
  std::uint64_t used_[(place_mask + 1) / 64] = {};
  std::uint64_t serial_ = 0;
};
constinit place_map places;

goroutine* calling() noexcept {
  inside in;
  return current();
}

}  // namespace

void end_goroutine_locals(goroutine* gp) noexcept {
  // A destructor may make new values, also of variables whose value has gone: until none is left.
  while (goroutine_locals* table = gp->locals) {
    auto& entries = table->entries;
    const auto younger = [](auto& a, auto& b) { return a.age < b.age; };
    auto last = std::max_element(entries.begin(), entries.end(), younger);
    if (last == entries.end() || last->id == 0) {
      gp->locals = nullptr;
      delete table;
      return;
    }
    const goroutine_locals::entry dying = std::exchange(*last, {});
    dying.destroy(dying.value);
  }
}

}  // namespace weft::inline v0::rt

namespace weft::inline v0::detail {

void* local_slot::find() noexcept {
  const std::uint64_t id = id_.load(rt::relaxed);   // [order] relaxed: the table is this goroutine's own
  const rt::goroutine_locals* table = rt::calling()->locals;
  if (!table || (id & rt::place_mask) >= table->entries.size()) return nullptr;
  const auto& e = table->entries[id & rt::place_mask];
  return e.id == id && id != 0 ? e.value : nullptr;
}

void local_slot::add(void* value, void (*destroy)(void*) noexcept) {
  if (id_.load(rt::relaxed) == 0) take();   // [order] relaxed: take() settles a race
  const std::uint64_t id = id_.load(rt::relaxed);
  const std::size_t place = id & rt::place_mask;
  rt::goroutine* gp = rt::calling();
  if (!gp->locals) gp->locals = new rt::goroutine_locals;
  auto& entries = gp->locals->entries;
  if (entries.size() <= place) entries.resize(place + 1);
  const auto old = std::exchange(entries[place], {id, value, destroy, ++gp->locals->constructed});
  if (old.id != 0) old.destroy(old.value);   // of a variable that is gone; its destructor may come back here
}

void local_slot::take() {
  std::uint64_t mine, expected = 0;
  {
    rt::inside in;
    mine = rt::places.take();
    rt::ports.end_goroutine = rt::end_goroutine_locals;
    // [order] relaxed: the id says all there is to know.
    if (mine != 0 && !id_.compare_exchange_strong(expected, mine, rt::relaxed)) rt::places.give_back(mine);
  }
  if (mine == 0) throw std::length_error("weft: more than 4095 goroutine_local variables");
}

void local_slot::give_back() noexcept {
  if (rt::in_forked_child()) return;
  rt::inside in;
  rt::places.give_back(id_.load(rt::relaxed));   // [order] relaxed: nobody else uses the variable any more
}

}  // namespace weft::inline v0::detail
