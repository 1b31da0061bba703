// stack_cache.cpp — a P's own few stacks: last in, first out, without a lock. Half a cache goes to or comes
// from the slabs at a time, so a P that hovers at either end does not take the lock each time.
#include "context/sanitizer.hpp"
#include "stack/stack_slab.hpp"

namespace weft::inline v0::rt {

stack stack_cache::take() noexcept {
  if (size_ == 0) {
    if (stack_default_size() == 0) stack_init({});
    size_ = default_stacks().take(cached_, capacity / 2);
    if (size_ == 0) return {};
  }
  stack s = cached_[--size_];
  sanitizer::unpoison_stack(s.bottom, s.size());
  return s;
}

void stack_cache::give(stack s) noexcept {
  if (!default_stacks().owns(s)) return stack_free(s);
  if (default_stacks().was_overrun(s)) [[unlikely]] stack_check(s);   // does not return
  if (size_ == capacity) {   // the older half is the colder
    default_stacks().give(cached_, capacity / 2);
    size_ = capacity / 2;
    for (std::size_t i = 0; i < size_; ++i) cached_[i] = cached_[i + capacity / 2];
  }
  cached_[size_++] = s;
}

void stack_cache::drain() noexcept {
  default_stacks().give(cached_, size_);
  size_ = 0;
}

}  // namespace weft::inline v0::rt
