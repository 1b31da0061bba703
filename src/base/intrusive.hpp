// intrusive.hpp — lists through links that live in the element: no allocation, O(1), not thread-safe.
#pragma once
#include <cstddef>

#include "base/check.hpp"

namespace weft::inline v0::rt {

// A FIFO through a single link `Next`. An element is in at most one list per link.
template <class T, T* T::* Next>
class fifo {
 public:
  bool empty() const noexcept { return head_ == nullptr; }
  std::size_t size() const noexcept { return size_; }
  T* front() const noexcept { return head_; }

  void push_back(T* x) noexcept {
    x->*Next = nullptr;
    (tail_ ? tail_->*Next : head_) = x;
    tail_ = x;
    ++size_;
  }
  void push_front(T* x) noexcept {
    x->*Next = head_;
    head_ = x;
    if (!tail_) tail_ = x;
    ++size_;
  }
  T* pop_front() noexcept {
    T* x = head_;
    if (!x) return nullptr;
    head_ = x->*Next;
    if (!head_) tail_ = nullptr;
    --size_;
    return x;
  }
  void append(fifo&& other) noexcept {   // takes all of other's elements, in order
    if (other.empty()) return;
    (tail_ ? tail_->*Next : head_) = other.head_;
    tail_ = other.tail_;
    size_ += other.size_;
    other = {};
  }
  void prepend(fifo&& other) noexcept {
    fifo mine = *this;
    *this = other;
    other = {};
    append(static_cast<fifo&&>(mine));
  }

 private:
  T* head_ = nullptr;
  T* tail_ = nullptr;
  std::size_t size_ = 0;
};

// A LIFO through a single link.
template <class T, T* T::* Next>
class stack_list {
 public:
  bool empty() const noexcept { return head_ == nullptr; }
  std::size_t size() const noexcept { return size_; }
  void push(T* x) noexcept { x->*Next = head_; head_ = x; ++size_; }
  T* pop() noexcept {
    T* x = head_;
    if (x) { head_ = x->*Next; --size_; }
    return x;
  }
  // The n below the topmost `depth`, into an array: O(depth + n). There are so many.
  void take_below(std::size_t depth, T** into, std::size_t n) noexcept {
    T** at = &head_;
    for (; depth > 0; --depth) at = &((*at)->*Next);
    for (std::size_t i = 0; i < n; ++i) {
      into[i] = *at;
      *at = into[i]->*Next;
    }
    size_ -= n;
  }

 private:
  T* head_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace weft::inline v0::rt
