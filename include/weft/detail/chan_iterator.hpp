// chan_iterator.hpp — what a range-for over a channel walks with.
//
// Lazy: it receives when it is dereferenced or compared with the end, not when it is made, and not for the
// element that ++ leads to. So `c | std::views::take(3)` receives three values and leaves the fourth in the
// channel.
//
//   unread ──compare, dereference──> read ──++──> unread
//      └──────(closed and empty)────> ended
//
// ++ on an unread one receives and drops a value, and may park: it passes over an element like any other ++.
#pragma once
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>

#include "weft/detail/chan_core.hpp"
#include "weft/detail/chan_value.hpp"

namespace weft::inline v0::detail {

template <class T>
class chan_iterator {
 public:
  using iterator_concept = std::input_iterator_tag;
  using value_type = T;
  using difference_type = std::ptrdiff_t;

  chan_iterator() noexcept = default;
  // Borrows: the channel's handle stays.
  explicit chan_iterator(rt::chan_core* core) noexcept : core_(core) {}

  // The value may be moved from. Parks when there is none yet. Undefined at the end.
  T& operator*() const {
    fetch();
    return *current_;
  }
  T* operator->() const { return &**this; }
  chan_iterator& operator++() {
    fetch();
    if (state_ == state::read) {
      current_.reset();
      state_ = state::unread;
    }
    return *this;
  }
  void operator++(int) { ++*this; }
  // Parks until there is a value or the channel is closed and empty.
  friend bool operator==(const chan_iterator& it, std::default_sentinel_t) {
    it.fetch();
    return it.state_ == state::ended;
  }

 private:
  enum class state : std::uint8_t { unread, read, ended };

  void fetch() const {
    if (state_ != state::unread) return;
    if (!core_) rt::chan_recv_nil();
    incoming<T> in;
    if (rt::chan_recv(core_, in.place())) {
      current_ = in.take();
      state_ = state::read;
    } else {
      state_ = state::ended;
    }
  }

  rt::chan_core* core_ = nullptr;
  mutable std::optional<T> current_;
  mutable state state_ = state::unread;
};

}  // namespace weft::inline v0::detail
