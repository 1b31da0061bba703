// g_cache.cpp — blocks for goroutines: type-stable slabs with a bitmap of the free ones, a few in hand per P.
// And their ids.
//
//   slab of 2 MiB, aligned:  | header | block 0 | block 1 | ... |      8,187 blocks of 256 bytes
//
// I1  a block's address belongs to a goroutine for ever: it may always be read
// I2  a slab all of whose blocks are free is given back as a whole; its blocks then read as zero: `idle`
// I3  a P has at most 64 blocks in hand; above that 32 go back to their slabs, below one 32 come (as in Go)
// I4  a free block is not touched: it may have ended on another core, and its lines are fetched before they
//     are needed, several at once
// Memory comes from the kernel, never from malloc: goroutines are made inside.
#include <algorithm>
#include <new>

#include "base/bitmap.hpp"
#include "os/os.hpp"
#include "sched/sched.hpp"

namespace weft::inline v0::rt {
namespace {

constexpr std::size_t slab_bytes = 2 << 20;
constexpr std::size_t header_blocks = 5;
constexpr unsigned blocks_per_slab = slab_bytes / sizeof(goroutine) - header_blocks;
constexpr std::uint32_t cache_batch = goroutine_cache::capacity / 2;
constexpr std::uint64_t id_batch = 16;

struct slab {
  slab* next_slab;                                   // all slabs, newest first; never changes
  slab* next_usable;                                 // under lock: slabs with free or uncarved blocks
  bool is_usable;                                    // under lock: it is in that list
  std::uint32_t free_count;                          // under lock
  std::uint32_t no_free_below;                       // under lock: a hint for `free`
  atomic<std::uint32_t> carved;                      // blocks ever used; changes under the lock
  bitmap<blocks_per_slab> free;                      // under lock: carved, and nobody's
  goroutine* block(std::uint32_t i) noexcept {
    return reinterpret_cast<goroutine*>(this) + header_blocks + i;
  }
  std::uint32_t index_of(const goroutine* gp) noexcept { return static_cast<std::uint32_t>(gp - block(0)); }
  // [order] relaxed: under the lock
  bool is_full() const noexcept { return free_count == 0 && carved.load(relaxed) == blocks_per_slab; }
};
static_assert(sizeof(slab) <= header_blocks * sizeof(goroutine));

struct {
  ranked_lock<lock_rank::slab> lock;
  atomic<slab*> all{nullptr};
  slab* usable = nullptr;
  atomic<std::uint64_t> next_id{2};                  // 1 is the main goroutine of the first world
} blocks;

slab* slab_of(goroutine* gp) noexcept {
  return reinterpret_cast<slab*>(reinterpret_cast<std::uintptr_t>(gp) & ~(slab_bytes - 1));
}

// Not under the lock: the first touch of a huge page took 0.3 to 2 ms, and whoever ends a goroutine meanwhile
// must not wait for that. Two Ps that need a slab at once make two.
slab* new_slab() noexcept {
  auto* p = static_cast<std::byte*>(os::allocate_pages(2 * slab_bytes));
  if (p == nullptr) return nullptr;
  const auto address = reinterpret_cast<std::uintptr_t>(p);
  auto* start = reinterpret_cast<std::byte*>((address + slab_bytes - 1) & ~(slab_bytes - 1));
  if (start != p) os::free_pages(p, static_cast<std::size_t>(start - p));
  const auto tail = static_cast<std::size_t>(p + 2 * slab_bytes - (start + slab_bytes));
  if (tail != 0) os::free_pages(start + slab_bytes, tail);
  // A program with few goroutines keeps small pages. [order] relaxed: only whether there is one
  if (blocks.all.load(relaxed) != nullptr) os::advise_huge(start, slab_bytes, true);
  sanitizer::stack_root(start, slab_bytes, true);    // a closure may be named by its block alone
  return ::new (start) slab{nullptr, nullptr, false, 0, 0, {}, {}};
}

void make_usable(slab* s) noexcept {                 // under lock
  if (s->is_usable) return;
  s->is_usable = true;
  s->next_usable = blocks.usable;
  blocks.usable = s;
}

void add_slab(slab* s) noexcept {                    // under lock
  s->next_slab = blocks.all.load(relaxed);           // [order] relaxed: under the lock
  blocks.all.store(s, release);                      // [order] release: for_each_goroutine takes no lock
  make_usable(s);
}

goroutine* take_from_slabs() noexcept {              // under lock; null: it takes a new slab
  slab* s = blocks.usable;
  if (s == nullptr) return nullptr;
  goroutine* gp;
  if (s->free_count != 0) {
    const std::uint32_t i = s->free.lowest(s->no_free_below);
    s->free.remove(i);
    s->no_free_below = i + 1;
    --s->free_count;
    gp = s->block(i);
  } else {
    const std::uint32_t i = s->carved.load(relaxed); // [order] relaxed: under the lock
    gp = ::new (s->block(i)) goroutine;
    s->carved.store(i + 1, release);                 // [order] release: the block is constructed
  }
  if (s->is_full()) {
    blocks.usable = s->next_usable;
    s->is_usable = false;
  }
  return gp;
}

void return_to_slab(goroutine* gp) noexcept {        // under lock
  slab* s = slab_of(gp);
  const std::uint32_t i = s->index_of(gp);
  s->free.add(i);
  s->no_free_below = std::min(s->no_free_below, i);
  ++s->free_count;
  make_usable(s);
}

// Up to `most` of them; none: out of memory.
std::uint32_t take_blocks(goroutine** out, std::uint32_t most) noexcept {
  for (;;) {
    {
      locked hold(blocks.lock);
      std::uint32_t n = 0;
      while (n < most && (out[n] = take_from_slabs()) != nullptr) ++n;
      if (n != 0) return n;
    }
    slab* s = new_slab();
    if (s == nullptr) return 0;
    locked hold(blocks.lock);
    add_slab(s);
  }
}

// The lines that a birth writes.
void prefetch_birth(goroutine* gp) noexcept {
  __builtin_prefetch(gp, 1);
  __builtin_prefetch(&gp->id, 1);
  __builtin_prefetch(&gp->entry, 1);
}

void refill(goroutine_cache& cache) noexcept {
  cache.count = take_blocks(cache.blocks, cache_batch);
  std::reverse(cache.blocks, cache.blocks + cache.count);   // popped from the end: in order of address
}

// The ones that came first are the colder.
void spill(goroutine_cache& cache) noexcept {
  {
    locked hold(blocks.lock);
    for (std::uint32_t i = 0; i < cache_batch; ++i) return_to_slab(cache.blocks[i]);
  }
  cache.count = cache.count - cache_batch;
  for (std::uint32_t i = 0; i < cache.count; ++i) cache.blocks[i] = cache.blocks[i + cache_batch];
}

}  // namespace

goroutine* take_goroutine(processor* pp) noexcept {
  if (pp == nullptr) {
    goroutine* gp;
    return take_blocks(&gp, 1) != 0 ? gp : nullptr;
  }
  constexpr std::uint32_t ahead = 3;
  goroutine_cache& cache = pp->free_goroutines;
  if (cache.count == 0) [[unlikely]] refill(cache);
  if (cache.count == 0) [[unlikely]] return nullptr;
  goroutine* gp = cache.pop();
  if (cache.count >= ahead) prefetch_birth(cache.blocks[cache.count - ahead]);
  return gp;
}

void free_goroutine(processor* pp, goroutine* gp) noexcept {
  gp->status.store(g_status::dead, relaxed);         // [order] relaxed: it is nobody's
  gp->is_main = false;
  gp->locals = nullptr;
  if (pp == nullptr) {
    locked hold(blocks.lock);
    return_to_slab(gp);
    return;
  }
  goroutine_cache& cache = pp->free_goroutines;
  if (cache.count == goroutine_cache::capacity) [[unlikely]] spill(cache);
  cache.push(gp);
}

void drain_goroutines(processor* pp) noexcept {
  locked hold(blocks.lock);
  goroutine_cache& cache = pp->free_goroutines;
  while (cache.count != 0) return_to_slab(cache.pop());
}

std::uint64_t new_goroutine_id(processor* pp) noexcept {
  // [order] relaxed: ids are unique, nothing is published with them
  if (pp == nullptr) return blocks.next_id.fetch_add(1, relaxed);
  if (pp->next_id == pp->end_id) {
    pp->next_id = blocks.next_id.fetch_add(id_batch, relaxed);
    pp->end_id = pp->next_id + id_batch;
  }
  return pp->next_id++;
}

std::int64_t live_goroutines() noexcept {
  // Ps taken away keep their counts. [order] relaxed: counts, advisory
  std::uint64_t born = sched.born_elsewhere.load(relaxed), ended = 0;
  for (std::uint32_t i = 0; i < sched.highest_maxprocs.load(relaxed); ++i) {
    ended += sched.processors[i].ended;
    born += sched.processors[i].born;
  }
  return static_cast<std::int64_t>(born - ended);
}

void for_each_goroutine(void (*f)(goroutine*, void*), void* arg) noexcept {
  // [order] acquire: pairs with add_slab() and take_from_slabs(): what is counted has been constructed
  for (slab* s = blocks.all.load(acquire); s != nullptr; s = s->next_slab) {
    const std::uint32_t n = s->carved.load(acquire);
    for (std::uint32_t i = 0; i < n; ++i) f(s->block(i), arg);
  }
}

goroutine* next_block(block_walk& at) noexcept {
  // [order] acquire: as in for_each_goroutine()
  auto* s = at.slab != nullptr ? static_cast<slab*>(at.slab) : blocks.all.load(acquire);
  while (s != nullptr && at.next >= s->carved.load(acquire)) {
    s = s->next_slab;
    at.next = 0;
  }
  at.slab = s;
  return s != nullptr ? s->block(at.next++) : nullptr;
}

std::size_t scavenge_goroutines() noexcept {
  std::size_t given_back = 0;
  locked hold(blocks.lock);
  // [order] relaxed: under the lock; a walker who still sees the old count reads zeros (I2)
  for (slab* s = blocks.all.load(relaxed); s != nullptr; s = s->next_slab) {
    const std::uint32_t n = s->carved.load(relaxed);
    if (n == 0 || s->free_count != n) continue;
    s->free = {};
    s->free_count = s->no_free_below = 0;
    s->carved.store(0, relaxed);                     // [order] as above
    auto* p = reinterpret_cast<std::byte*>(s);
    os::give_back(p + os::page_size(), slab_bytes - os::page_size());   // the first page keeps the header
    given_back += slab_bytes;
  }
  return given_back;
}

}  // namespace weft::inline v0::rt
