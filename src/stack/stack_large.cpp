// stack_large.cpp — stacks that are not of the default size: one mapping each, recycled by size class.
//
// Classes are four to a doubling, so at most a fifth of the address space is lost; and a page, for their
// number to be odd (stack.hpp). A record a stack, in a table that never moves: `number` is its index. Free
// records of a class form a LIFO; a record whose mapping was given up goes to the list of empty ones.
#include <algorithm>
#include <bit>
#include <new>

#include "context/sanitizer.hpp"
#include "os/os.hpp"
#include "stack/stack_guard.hpp"
#include "stack/stack_slab.hpp"

namespace weft::inline v0::rt {
namespace {

constexpr std::uint32_t most_records = 1 << 22;
constexpr std::size_t table_step = 64 << 10;
constexpr std::uint32_t none = UINT32_MAX;
constexpr unsigned classes = 4 * 48;

struct record {
  atomic<std::byte*> base{nullptr};          // start of the mapping, guard first; null while it has none
  atomic<std::uint32_t> pages{0};
  atomic<bool> unguarded{false};
  std::uint32_t next = none;
};

struct table {
  ranked_lock<lock_rank::slab> lock;
  record* records = nullptr;
  std::size_t table_bytes = 0;
  std::uint32_t empty = none;                // records without a mapping
  std::uint32_t cached[classes];             // free stacks by class
  std::size_t cached_count = 0, fewest_cached = 0, in_use = 0, carved = 0;
  unsigned last_scavenged = 0;
  atomic<std::uint32_t> record_count{0};
  atomic<std::size_t> unguarded{0};

  constexpr table() noexcept { std::fill(cached, cached + classes, none); }
};
constinit table large;

struct size_class {
  unsigned index;
  std::size_t bytes;                         // an even number of pages
};

size_class class_of(std::size_t bytes) noexcept {
  std::size_t page = os::page_size();
  std::size_t step = std::max(2 * page, std::bit_floor(bytes) / 4);
  bytes = (bytes + step - 1) / step * step;
  unsigned exponent = static_cast<unsigned>(std::bit_width(bytes)) - 1;
  return {std::min(exponent * 4 + static_cast<unsigned>(bytes >> (exponent - 2) & 3), classes - 1), bytes};
}

std::size_t guard_size() noexcept { return std::max<std::size_t>(64 << 10, os::page_size()); }

std::uint32_t take_empty_record() noexcept {   // under the lock
  if (std::uint32_t i = large.empty; i != none) {
    large.empty = large.records[i].next;
    return i;
  }
  std::uint32_t i = large.record_count.load(relaxed);   // [order] relaxed: written under the lock
  if (i == most_records) return none;
  if (large.records == nullptr)
    large.records = static_cast<record*>(os::reserve(most_records * sizeof(record)));
  if (large.records == nullptr) return none;
  if ((i + 1) * sizeof(record) > large.table_bytes) {
    if (!os::commit(reinterpret_cast<std::byte*>(large.records) + large.table_bytes, table_step)) return none;
    large.table_bytes += table_step;
  }
  new (&large.records[i]) record;
  large.record_count.store(i + 1, release);   // [order] release: pairs with guard_hit: the record is there
  return i;
}

void drop_record(std::uint32_t i) noexcept {   // under the lock
  large.records[i].next = large.empty;
  large.empty = i;
}

stack make_stack(std::uint32_t i, std::byte* base, std::uint32_t pages) noexcept {
  stack s;
  s.number = i;
  s.reserved = pages;
  s.bottom = base + guard_size();
  s.top = base + pages * os::page_size() - stack_colour(i);
  return s;
}

// A mapping with its guard, or null.
std::byte* map_large(std::size_t bytes, bool& guarded) noexcept {
  std::byte* base = map_stack_memory(bytes);
  if (base == nullptr) return nullptr;
  guarded = guard_install(base, guard_size());
  if (guarded || !guards_are_strict()) return base;
  os::free_pages(base, bytes);
  return nullptr;
}

}  // namespace

namespace {

stack take_cached_or_map(std::size_t size) noexcept {
  constexpr std::size_t most = std::size_t{1} << 40;
  if (size > most) return {};
  size_class c = class_of(size + guard_size() + stack_colour(31));
  c.bytes = odd_pages(c.bytes);
  auto pages = static_cast<std::uint32_t>(c.bytes / os::page_size());
  std::uint32_t i = none;
  {
    locked hold(large.lock);
    // [order] relaxed: all of it under the lock
    if (i = large.cached[c.index]; i != none && large.records[i].pages.load(relaxed) == pages) {
      large.cached[c.index] = large.records[i].next;
      large.fewest_cached = std::min(large.fewest_cached, --large.cached_count);
      ++large.in_use;
      return make_stack(i, large.records[i].base.load(relaxed), pages);
    }
    if (i = take_empty_record(); i == none) return {};
  }
  bool guarded = false;
  std::byte* base = map_large(c.bytes, guarded);
  locked hold(large.lock);
  if (base == nullptr) {
    drop_record(i);
    return {};
  }
  record& r = large.records[i];
  r.unguarded.store(!guarded, relaxed);        // [order] relaxed: who asks has got the stack from its owner
  if (!guarded) large.unguarded.fetch_add(1, relaxed);
  r.pages.store(pages, relaxed);
  r.base.store(base, release);                 // [order] release: pairs with guard_hit: pages are set
  ++large.in_use;
  ++large.carved;
  return make_stack(i, base, pages);
}

}  // namespace

stack large_stack_allocate(std::size_t size) noexcept {
  stack s = take_cached_or_map(size);
  if (!s) return s;
  sanitizer::stack_root(s.bottom, s.size(), true);
  sanitizer::unpoison_stack(s.bottom, s.size());
  return s;
}

void large_stack_free(const stack& s) noexcept {
  sanitizer::stack_root(s.bottom, s.size(), false);
  sanitizer::unpoison_stack(s.bottom, s.size());   // it may be unmapped, and the address be somebody else's
  locked hold(large.lock);
  record& r = large.records[s.number];
  unsigned c = class_of((s.reserved - 1) * os::page_size()).index;
  r.next = large.cached[c];
  large.cached[c] = s.number;
  ++large.cached_count;
  --large.in_use;
}

// Unmaps up to `limit` cached stacks, class by class. Returns the bytes of address space.
std::size_t large_stack_scavenge(std::size_t limit) noexcept {
  std::size_t given_back = 0;
  for (std::size_t n = 0; n < limit; ++n) {
    std::byte* base = nullptr;
    std::size_t bytes = 0;
    std::uint32_t i = none;
    {
      locked hold(large.lock);
      for (unsigned tried = 0; tried < classes && i == none; ++tried) {
        large.last_scavenged = (large.last_scavenged + 1) % classes;
        i = large.cached[large.last_scavenged];
      }
      if (i == none) break;
      record& r = large.records[i];
      large.cached[large.last_scavenged] = r.next;
      large.fewest_cached = std::min(large.fewest_cached, --large.cached_count);
      base = r.base.exchange(nullptr, relaxed);   // [order] relaxed: nobody runs on it
      bytes = r.pages.load(relaxed) * os::page_size();
      if (r.unguarded.exchange(false, relaxed)) large.unguarded.fetch_sub(1, relaxed);
      --large.carved;
    }
    os::free_pages(base, bytes);
    given_back += bytes;
    locked hold(large.lock);
    drop_record(i);
  }
  return given_back;
}

std::size_t large_stacks_unneeded() noexcept {
  locked hold(large.lock);
  std::size_t fewest = large.fewest_cached;
  large.fewest_cached = large.cached_count;
  return fewest;
}

bool large_stack_guard_hit(const void* address, stack& which) noexcept {
  auto* a = static_cast<const std::byte*>(address);
  std::uint32_t count = large.record_count.load(acquire);   // [order] acquire: pairs with take_empty_record()
  for (std::uint32_t i = 0; i < count; ++i) {
    std::byte* base = large.records[i].base.load(acquire);   // [order] acquire: as the allocation released it
    if (base == nullptr || a < base) continue;
    std::uint32_t pages = large.records[i].pages.load(relaxed);   // [order] relaxed: ordered by base
    if (a >= base + pages * os::page_size()) continue;
    which = make_stack(i, base, pages);
    return a < which.bottom;
  }
  return false;
}

bool large_stack_was_overrun(const stack& s) noexcept {
  // [order] relaxed: set before the stack was handed out
  bool unguarded = large.records[s.number].unguarded.load(relaxed);
  return unguarded && guard_touched(s.bottom - guard_size(), guard_size());
}

void large_stack_counts(stack_counts& into) noexcept {
  locked hold(large.lock);
  into.in_use += large.in_use;
  into.reserved += large.carved;
  into.unguarded += large.unguarded.load(relaxed);   // [order] relaxed: a statistic
}

}  // namespace weft::inline v0::rt
