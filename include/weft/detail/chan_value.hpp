// chan_value.hpp — how a T travels through raw slots.
//
//   small and trivially copyable   its bytes                     slot = sizeof(T), nothing for an empty class
//   anything else                  a node built by the sender    slot = the node's pointer
//
// Constructors, moves and destructors of T run here only, in the caller's goroutine, outside the runtime and
// its locks: they may allocate, throw, block or use the same channel.
#pragma once
#include <cstddef>
#include <memory>
#include <new>
#include <optional>
#include <type_traits>
#include <utility>

namespace weft::inline v0::detail {

inline constexpr std::size_t largest_inline_value = 64;

template <class T>
inline constexpr bool travels_as_bytes = std::is_trivially_copyable_v<T> && sizeof(T) <= largest_inline_value;

template <class T>
struct value_node {
  template <class... Args>
  explicit value_node(Args&&... args) : value(std::forward<Args>(args)...) {}
  T value;
};

template <class T>
constexpr std::size_t slot_size() noexcept {
  static_assert(std::is_object_v<T> && !std::is_const_v<T> && std::is_move_constructible_v<T>,
                "a channel's elements are movable objects");
  if constexpr (!travels_as_bytes<T>)
    return sizeof(value_node<T>*);
  else
    return std::is_empty_v<T> ? 0 : sizeof(T);
}

template <class T>
void drop_node(void* slot) noexcept { delete *static_cast<value_node<T>**>(slot); }

// What the core calls for values that nobody received.
template <class T>
constexpr auto drop_function() noexcept -> void (*)(void*) noexcept {
  if constexpr (travels_as_bytes<T>)
    return nullptr;
  else
    return &drop_node<T>;
}

// A place to receive into.
template <class T, bool = travels_as_bytes<T>>
class incoming {
 public:
  void* place() noexcept { return bytes_; }
  std::optional<T> take() {   // once, after the core has filled the place
    return std::optional<T>(std::in_place, std::move(*std::launder(reinterpret_cast<T*>(bytes_))));
  }

 private:
  alignas(T) std::byte bytes_[sizeof(T)];
};

template <class T>
class incoming<T, false> {
 public:
  void* place() noexcept { return &node_; }
  std::optional<T> take() {
    std::unique_ptr<value_node<T>> own(node_);
    return std::optional<T>(std::in_place, std::move(own->value));
  }

 private:
  value_node<T>* node_ = nullptr;
};

// A value on its way out. `From` is T& (an rvalue to be moved from) or const T&. The value is moved only if
// it is sent: keep() gives an unsent one back to where it came from. A T whose move may throw is copied if it
// can be.
template <class T, bool = travels_as_bytes<T>>
class outgoing {
 public:
  explicit outgoing(const T& value) noexcept : value_(&value) {}
  const void* data() const noexcept { return value_; }
  void sent() noexcept {}
  void keep(const T&) noexcept {}

 private:
  const T* value_;
};

template <class T>
class outgoing<T, false> {
 public:
  explicit outgoing(const T& value) : node_(new value_node<T>(value)) {}
  explicit outgoing(T& value) : node_(new value_node<T>(std::move_if_noexcept(value))) {}
  outgoing(const outgoing&) = delete;
  outgoing& operator=(const outgoing&) = delete;
  ~outgoing() { delete node_; }

  const void* data() const noexcept { return &node_; }
  void sent() noexcept { node_ = nullptr; }
  void keep(const T&) noexcept {}
  void keep(T& source) {
    if constexpr (!std::is_nothrow_move_constructible_v<T> && std::is_copy_constructible_v<T>) {
      // copied: the source was not touched
    } else if constexpr (std::is_move_assignable_v<T>) {
      source = std::move(node_->value);
    } else {
      std::destroy_at(std::addressof(source));
      std::construct_at(std::addressof(source), std::move(node_->value));
    }
  }

 private:
  value_node<T>* node_;
};

}  // namespace weft::inline v0::detail
