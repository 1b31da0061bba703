// stack_slab.cpp — taking and giving stacks of the default size; the entry points of stack.hpp. Pictures and
// invariants: stack_slab.hpp.
#include "stack/stack_slab.hpp"

#include <sys/syscall.h>

#include <algorithm>
#include <new>

#include "context/sanitizer.hpp"
#include "os/linux/syscall.hpp"
#include "os/os.hpp"
#include "stack/stack_guard.hpp"

namespace weft::inline v0::rt {
namespace {

constexpr std::size_t slab_bytes = 64 << 20;
constexpr std::size_t most_slabs = 1 << 16;        // 16 million stacks
constexpr std::size_t most_guard = 64 << 10;
constexpr std::size_t least_stack = 16 << 10;
constexpr unsigned colours = 32;
constexpr std::size_t table_step = 64 << 10;       // the array of slabs becomes memory in pieces of this

std::size_t round_up(std::size_t n, std::size_t unit) noexcept { return (n + unit - 1) / unit * unit; }

}  // namespace

constinit stack_slabs slabs_of_default_size;

std::size_t odd_pages(std::size_t bytes) noexcept { return bytes | os::page_size(); }

std::size_t stack_colour(std::uint32_t number) noexcept { return number % colours * cache_line; }

std::byte* map_stack_memory(std::size_t bytes) noexcept {
  void* p = os::reserve(bytes);
  if (p == nullptr) return nullptr;
  os::system_call(SYS_munlock, p, bytes);          // after mlockall(MCL_FUTURE): else all becomes resident
  os::advise_huge(p, bytes, false);                // one touched page must not become 2 MiB
  if (os::commit(p, bytes)) return static_cast<std::byte*>(p);
  os::free_pages(p, bytes);
  return nullptr;
}

// ---- lists ----

void slab_list::push_front(stack_slab* s) noexcept {
  s->previous = nullptr;
  s->next = front_;
  (front_ ? front_->previous : back_) = s;
  front_ = s;
}

void slab_list::push_back(stack_slab* s) noexcept {
  s->next = nullptr;
  s->previous = back_;
  (back_ ? back_->next : front_) = s;
  back_ = s;
}

void slab_list::remove(stack_slab* s) noexcept {
  (s->previous ? s->previous->next : front_) = s->next;
  (s->next ? s->next->previous : back_) = s->previous;
  s->previous = s->next = nullptr;
}

// Puts a slab where its counts say. In the dirty list it only moves to the front; a slab that is wholly clean
// goes to the end, so that the ones that are in use anyway fill up first.
void stack_slabs::relist(stack_slab* s, bool to_front) noexcept {
  using place = stack_slab::place;
  place to = s->dirty_count ? place::dirty_list : s->free_count ? place::clean_list : place::no_list;
  if (to == s->where && (!to_front || s == dirty_.front())) return;
  if (s->where == place::dirty_list) dirty_.remove(s);
  if (s->where == place::clean_list) clean_.remove(s);
  if (to == place::dirty_list) dirty_.push_front(s);
  if (to == place::clean_list) s->free_count == per_slab_ ? clean_.push_back(s) : clean_.push_front(s);
  s->where = to;
}

// ---- slabs ----

void stack_slabs::init(std::size_t stack_size) noexcept {
  locked hold(lock_);
  if (slabs_ != nullptr) return;
  std::size_t page = os::page_size();
  stack_size_ = odd_pages(round_up(std::max({stack_size, least_stack, 4 * page}), page));
  stack_pages_ = static_cast<std::uint32_t>(stack_size_ / page);
  guard_size_ = std::max(page, std::min(most_guard, stack_size_ / 4) / page * page);
  per_slab_ = static_cast<std::uint32_t>(
      std::clamp<std::size_t>(slab_bytes / stack_size_, 1, stack_set::capacity));
  slabs_ = static_cast<stack_slab*>(os::reserve(most_slabs * sizeof(stack_slab)));
}

std::size_t stack_slabs::usable_size() const noexcept {
  return stack_size_ - guard_size_ - (colours - 1) * cache_line;
}

stack_slab* stack_slabs::new_slab() noexcept {
  std::uint32_t count = slab_count_.load(relaxed);   // [order] relaxed: written under the lock, which we hold
  if (slabs_ == nullptr || count == most_slabs) return nullptr;
  if ((count + 1) * sizeof(stack_slab) > table_bytes_) {
    if (!os::commit(reinterpret_cast<std::byte*>(slabs_) + table_bytes_, table_step)) return nullptr;
    table_bytes_ += table_step;
  }
  std::byte* base = map_stack_memory(per_slab_ * stack_size_);
  if (base == nullptr) return nullptr;
  auto* s = new (&slabs_[count]) stack_slab;
  s->free.fill(per_slab_);
  s->fresh.fill(per_slab_);
  s->free_count = static_cast<std::uint16_t>(per_slab_);
  // [order] relaxed, release: whoever sees the new count (acquire in guard_hit()) sees the slab's base.
  s->base.store(base, relaxed);
  slab_count_.store(count + 1, release);
  relist(s, true);
  return s;
}

stack stack_slabs::make_stack(std::size_t slab_index, unsigned slot) const noexcept {
  std::byte* base = slabs_[slab_index].base.load(relaxed);   // [order] relaxed: see new_slab()
  std::byte* start = base + slot * stack_size_;
  stack s;
  s.number = static_cast<std::uint32_t>(slab_index * per_slab_ + slot);
  s.reserved = stack_pages_;
  s.bottom = start + guard_size_;
  s.top = start + stack_size_ - stack_colour(s.number);
  return s;
}

// ---- take, give ----

bool stack_slabs::guard(const stack& s, stack_slab* in, unsigned slot) noexcept {
  if (guard_install(s.bottom - guard_size_, guard_size_)) return true;
  if (guards_are_strict()) return false;
  // [order] relaxed, both: the owner marks its own stack before anybody runs on it
  in->unguarded[slot / 64].fetch_or(std::uint64_t{1} << (slot % 64), relaxed);
  unguarded_.fetch_add(1, relaxed);
  return true;
}

std::size_t stack_slabs::take(stack* into, std::size_t wanted) noexcept {
  std::size_t got = 0;
  stack_slab* fresh_in = nullptr;
  unsigned fresh_slot = 0;
  {
    locked hold(lock_);
    while (got < wanted) {
      stack_slab* s = dirty_.front();
      const bool dirty = s != nullptr;
      if (!dirty && got > 0) break;
      if (!dirty) s = clean_.front();
      if (s == nullptr) s = new_slab();
      if (s == nullptr) break;
      unsigned slot = (dirty ? s->dirty : s->free).lowest();
      s->free.remove(slot);
      --s->free_count;
      if (dirty) {
        s->dirty.remove(slot);
        --s->dirty_count;
        --dirty_total_;
      } else if (s->fresh.has(slot)) {
        s->fresh.remove(slot);
        ++carved_;
        fresh_in = s;
        fresh_slot = slot;
      }
      relist(s, false);
      into[got++] = make_stack(index_of(s), slot);
      ++in_use_;
    }
    fewest_dirty_ = std::min(fewest_dirty_, dirty_total_);
  }
  if (fresh_in != nullptr && !guard(into[0], fresh_in, fresh_slot)) {   // a fresh one comes alone
    locked hold(lock_);
    fresh_in->fresh.add(fresh_slot);
    put_back(fresh_in, fresh_slot, false);
    --carved_;
    into[0] = {};
    return 0;
  }
  for (std::size_t i = 0; i < got; ++i)
    sanitizer::stack_root(into[i].bottom, into[i].size(), true);
  return got;
}

void stack_slabs::put_back(stack_slab* s, unsigned slot, bool with_pages) noexcept {
  s->free.add(slot);
  ++s->free_count;
  --in_use_;
  if (with_pages) {
    s->dirty.add(slot);
    ++s->dirty_count;
    ++dirty_total_;
  }
  relist(s, true);
}

void stack_slabs::give(const stack* from, std::size_t count) noexcept {
  for (std::size_t i = 0; i < count; ++i) sanitizer::stack_root(from[i].bottom, from[i].size(), false);
  locked hold(lock_);
  for (std::size_t i = 0; i < count; ++i)
    put_back(&slabs_[from[i].number / per_slab_], from[i].number % per_slab_, true);
}

// ---- looking ----

bool stack_slabs::guard_hit(const void* address, stack& which) const noexcept {
  auto* a = static_cast<const std::byte*>(address);
  std::uint32_t count = slab_count_.load(acquire);   // [order] acquire: pairs with new_slab()
  for (std::uint32_t i = 0; i < count; ++i) {
    std::byte* base = slabs_[i].base.load(relaxed);   // [order] relaxed: ordered by the count
    if (a < base || a >= base + per_slab_ * stack_size_) continue;
    std::size_t distance = static_cast<std::size_t>(a - base);
    which = make_stack(i, static_cast<unsigned>(distance / stack_size_));
    return distance % stack_size_ < guard_size_;
  }
  return false;
}

bool stack_slabs::was_overrun_slow(const stack& s) const noexcept {
  // [order] relaxed: see guard()
  unsigned slot = s.number % per_slab_;
  bool unguarded = slabs_[s.number / per_slab_].unguarded[slot / 64].load(relaxed) >> (slot % 64) & 1;
  return unguarded && guard_touched(s.bottom - guard_size_, guard_size_);
}

stack_counts stack_slabs::counts() noexcept {
  locked hold(lock_);
  return {in_use_, carved_, unguarded_.load(relaxed), dirty_total_};   // [order] relaxed: a statistic
}

// ---- the entry points ----

void stack_init(const stack_limits& limits) noexcept {
  if (default_stacks().stack_size() != 0) return;
  guard_init(limits.strict_guards);
  default_stacks().init(limits.default_size);
}

std::size_t stack_default_size() noexcept { return default_stacks().stack_size(); }

stack stack_allocate(std::size_t size) noexcept {
  if (default_stacks().stack_size() == 0) stack_init({});
  if (size > default_stacks().usable_size()) return large_stack_allocate(size);
  stack s;
  default_stacks().take(&s, 1);
  if (s) sanitizer::unpoison_stack(s.bottom, s.size());
  return s;
}

void stack_free(stack s) noexcept {
  stack_check(s);
  if (default_stacks().owns(s))
    default_stacks().give(&s, 1);
  else
    large_stack_free(s);
}

void stack_check(const stack& s) noexcept {
  bool overrun = default_stacks().owns(s) ? default_stacks().was_overrun(s) : large_stack_was_overrun(s);
  if (overrun) [[unlikely]] die_of_overflow(s, s.bottom - 1, nullptr);
}

stack_counts stack_statistics() noexcept {
  stack_counts all = default_stacks().counts();
  large_stack_counts(all);
  return all;
}

bool stack_guard_hit(const void* address, stack& which) noexcept {
  return default_stacks().guard_hit(address, which) || large_stack_guard_hit(address, which);
}

}  // namespace weft::inline v0::rt
