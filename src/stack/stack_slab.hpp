// stack_slab.hpp — the default class of stacks: slabs, their bitmaps, the two lists of slabs. Internal to
// src/stack.
//
// A slab is up to 256 stacks in one piece of address space. Of each stack three bits say what it is:
//
//   free   fresh  dirty
//    1      1      0     never handed out: no guard yet, no page
//    1      0      0     clean: guard, no page
//    1      0      1     dirty: guard, and pages that may be present
//    0      -      -     handed out, or held by the scavenger
//
// A slab with a free stack is in one of two lists: `dirty` (it has a dirty one; the slab that was freed into
// last is first) or `clean`. A stack is taken from the first dirty slab, its lowest dirty stack: the one most
// likely to be warm, while the scavenger works from the last slab and from the top. When there is no dirty
// one, a clean one; when there is none at all, a new slab.
//
// All under one lock, except for what is marked atomic. System calls on single stacks are made outside it, by
// whoever owns the stack at that moment.
#pragma once
#include <cstddef>
#include <cstdint>

#include "base/bitmap.hpp"
#include "base/raw_lock.hpp"
#include "stack/stack.hpp"

namespace weft::inline v0::rt {

using stack_set = bitmap<256>;

struct alignas(cache_line) stack_slab {
  enum class place : std::uint8_t { no_list, dirty_list, clean_list };

  atomic<std::byte*> base{nullptr};   // set once; read by stack_guard_hit without the lock
  stack_slab* previous = nullptr;
  stack_slab* next = nullptr;
  std::uint16_t free_count = 0, dirty_count = 0;
  place where = place::no_list;
  stack_set free, fresh, dirty;
  atomic<std::uint64_t> unguarded[stack_set::capacity / 64] = {};   // set by the stack's owner
};

class slab_list {   // doubly linked through the slabs
 public:
  stack_slab* front() const noexcept { return front_; }
  stack_slab* back() const noexcept { return back_; }
  void push_front(stack_slab* s) noexcept;
  void push_back(stack_slab* s) noexcept;
  void remove(stack_slab* s) noexcept;

 private:
  stack_slab* front_ = nullptr;
  stack_slab* back_ = nullptr;
};

class stack_slabs {
 public:
  void init(std::size_t stack_size) noexcept;   // once; later calls are ignored
  std::size_t stack_size() const noexcept { return stack_size_; }
  std::size_t usable_size() const noexcept;     // what every default stack has at least
  bool owns(const stack& s) const noexcept { return s.reserved == stack_pages_; }   // else it is a large one

  // Up to `wanted` stacks, guarded. Never more than one that is not dirty: those cost a system call or a page
  // fault each, so they are taken as they are needed.
  std::size_t take(stack* into, std::size_t wanted) noexcept;
  void give(const stack* from, std::size_t count) noexcept;

  // Gives back the pages of free stacks, at most `limit` of them, out of one slab. Returns how many.
  std::size_t scavenge_one(std::size_t limit) noexcept;
  std::size_t fewest_dirty_since_asked() noexcept;   // the excess: dirty ones that nobody needed meanwhile

  bool guard_hit(const void* address, stack& which) const noexcept;   // no lock; for the handler
  bool was_overrun(const stack& s) const noexcept {  // of a stack without a guard
    // [order] relaxed: counted before the stack was handed out
    return unguarded_.load(relaxed) != 0 && was_overrun_slow(s);
  }
  stack_counts counts() noexcept;

 private:
  struct claim { stack_slab* slab; stack_set stacks; std::size_t count; };

  stack_slab* new_slab() noexcept;
  bool was_overrun_slow(const stack& s) const noexcept;
  stack make_stack(std::size_t slab_index, unsigned slot) const noexcept;
  std::size_t index_of(const stack_slab* s) const noexcept { return static_cast<std::size_t>(s - slabs_); }
  void relist(stack_slab* s, bool to_front) noexcept;
  void put_back(stack_slab* s, unsigned slot, bool with_pages) noexcept;
  claim claim_dirty(std::size_t limit) noexcept;
  void give_pages_back(const claim& c) const noexcept;
  bool guard(const stack& s, stack_slab* in, unsigned slot) noexcept;

  ranked_lock<lock_rank::slab> lock_;
  // ---- constant after init() ----
  std::size_t stack_size_ = 0, guard_size_ = 0;
  std::uint32_t stack_pages_ = 0, per_slab_ = 0;
  stack_slab* slabs_ = nullptr;                 // an array; address space for all, memory as it grows
  // ---- under the lock ----
  slab_list dirty_, clean_;
  std::size_t dirty_total_ = 0, fewest_dirty_ = 0, in_use_ = 0, carved_ = 0;
  std::size_t table_bytes_ = 0;
  // ---- any thread ----
  atomic<std::uint32_t> slab_count_{0};
  atomic<std::size_t> unguarded_{0};
};

// Stacks of other sizes, each a mapping of its own (stack_large.cpp).
stack large_stack_allocate(std::size_t size) noexcept;
void large_stack_free(const stack& s) noexcept;
std::size_t large_stack_scavenge(std::size_t limit) noexcept;   // unmaps cached ones; returns bytes
std::size_t large_stacks_unneeded() noexcept;                   // as fewest_dirty_since_asked()
bool large_stack_guard_hit(const void* address, stack& which) noexcept;
bool large_stack_was_overrun(const stack& s) noexcept;
void large_stack_counts(stack_counts& into) noexcept;

void stack_scavenge_period(std::int64_t ns) noexcept;      // for tests: half a second is long

// Read-write address space in small pages that nothing makes resident; null: there is none left.
std::byte* map_stack_memory(std::size_t bytes) noexcept;
std::size_t odd_pages(std::size_t bytes) noexcept;          // of whole pages: a page more, or none
std::size_t stack_colour(std::uint32_t number) noexcept;

extern stack_slabs slabs_of_default_size;
inline stack_slabs& default_stacks() noexcept { return slabs_of_default_size; }

}  // namespace weft::inline v0::rt
