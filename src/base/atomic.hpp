// atomic.hpp — atomics for the runtime: the door of weft/detail/atomic.hpp, and words that only their owner
// writes.
#pragma once
#include "base/cacheline.hpp"
#include "weft/detail/atomic.hpp"

namespace weft::inline v0::rt {

// A word that only its owner touches, but that other threads (a dump, the tracer) may look at. Plain loads
// and stores in machine code; no read-modify-write.
template <class T>
class owned {
 public:
  constexpr owned() noexcept = default;
  constexpr explicit owned(T v) noexcept : v_(v) {}
  T get() const noexcept { return v_.load(relaxed); }       // relaxed: advisory for all but the owner
  void set(T v) noexcept { v_.store(v, relaxed); }          // relaxed: the owner publishes by other means
  owned& operator=(T v) noexcept { set(v); return *this; }
  operator T() const noexcept { return get(); }
  T operator++() noexcept { T v = get() + 1; set(v); return v; }
  T operator--() noexcept { T v = get() - 1; set(v); return v; }

 private:
  atomic<T> v_{};
};

}  // namespace weft::inline v0::rt
