// goroutine_local.hpp — a variable of which every goroutine has its own.
//
//   weft::goroutine_local<int> depth;                                  // static, a member, a local: anywhere
//   weft::goroutine_local<std::mt19937> random([] { return std::mt19937(weft::this_goroutine::id()); });
//   ++*depth;
//
// A goroutine changes its thread when it parks, so a `thread_local` is not its own, and a reference to one
// that is kept across a park may name another thread's. This one moves with the goroutine.
//
// The value is made at a goroutine's first access and destroyed in it after its function has returned (and
// its closure is gone), in reverse order of construction, before whoever joins it goes on. A plain thread has
// values too; they end with the thread. Values of a world that has ended are not destroyed (as all
// destructors there).
#pragma once
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "weft/detail/atomic.hpp"

namespace weft::inline v0 {

namespace detail {

// Which place in every goroutine's table belongs to a variable. Taken at the first access anywhere, so that a
// static one is constant-initialised; given back by the destructor. The serial tells successive owners of a
// place apart.
class local_slot {
 public:
  constexpr local_slot() noexcept = default;
  ~local_slot() {
    if (id_.load(rt::relaxed) != 0) give_back();   // [order] relaxed: nobody uses the variable any more
  }
  local_slot(const local_slot&) = delete;
  local_slot& operator=(const local_slot&) = delete;

  void* find() noexcept;                                      // the caller's value, null when there is none
  // Throws std::bad_alloc, std::length_error, and then does not own the value.
  void add(void* value, void (*destroy)(void*) noexcept);

 private:
  void take();
  void give_back() noexcept;
  rt::atomic<std::uint64_t> id_{0};   // serial << 12 | place; 0: none yet
};

}  // namespace detail

template <class T>
class goroutine_local {
 public:
  using value_type = T;

  constexpr goroutine_local() noexcept
    requires std::default_initializable<T>
      : make_([] { return std::make_unique<T>(); }) {}
  // Values are made by make(), which must not hold anything: a function, or a lambda without captures.
  template <class F>
    requires std::default_initializable<F> && std::is_empty_v<F> &&
             std::constructible_from<T, std::invoke_result_t<F>>
  constexpr explicit goroutine_local(F) noexcept : make_([] { return std::unique_ptr<T>(new T(F{}())); }) {}

  // The calling goroutine's value. Does not park (but for what T's constructor does). Throws what that
  // throws, std::bad_alloc, and std::length_error beyond 4,095 live variables.
  T& get() {
    if (void* value = slot_.find()) [[likely]] return *static_cast<T*>(value);
    return make();
  }
  T& operator*() { return get(); }
  T* operator->() { return std::addressof(get()); }
  // Null when the calling goroutine has none yet. Does not park.
  T* peek() noexcept { return static_cast<T*>(slot_.find()); }

 private:
  T& make() {
    std::unique_ptr<T> value = make_();
    T& result = *value;
    slot_.add(value.get(), [](void* p) noexcept { delete static_cast<T*>(p); });
    value.release();
    return result;
  }

  std::unique_ptr<T> (*make_)();
  detail::local_slot slot_;
};

}  // namespace weft::inline v0
