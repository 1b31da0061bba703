// chan_core.hpp — a channel without its element type: a lock, a ring of raw slots, two queues of waiters.
//
//   state                              send                              receive
//   closed                             false                             the buffer's rest, then false
//   a receiver waits (buffer empty)    value into its slot, wake it      waits behind it
//   a sender waits (buffer full)       waits behind it                   the buffer's head, refilled from it
//   room / something in the buffer     into the buffer                   out of the buffer
//   none of these                      waits                             waits
//
// A slot holds what may be copied as bytes under the lock: a small trivially copyable value itself, or the
// pointer to the node that holds any other value (chan_value.hpp). The core never sees the type.
//
// I1  receivers wait only while the buffer is empty, senders only while it is full; never both at once, but
//     for the two cases of one select on one channel, and for waiters that another waker has claimed already
// I2  closed is never undone, and closing empties both queues
// I3  nobody is made runnable under the lock
// I4  the core lives while one handle does; an operation relies on the handle it was called through
//
// All functions are called outside the runtime. Null cores are the callers' business unless a line says
// otherwise. Rejected: a lock-free ring (close, select and direct hand-off each need the whole state at one
// instant).
#pragma once
#include <cstddef>
#include <cstdint>

#include "weft/detail/atomic.hpp"
#include "weft/detail/deadline.hpp"
#include "weft/detail/raw_lock.hpp"
#include "weft/detail/wait_queue.hpp"

namespace weft::inline v0::rt {

// Biased to a P, or shared: src/chan/chan_lock.hpp.
struct chan_lock {
  static constexpr std::uint16_t nobody = 0xffff, no_processor = 0xfffe, uses_to_adopt = 1024;
  ranked_lock<lock_rank::channel> shared;
  atomic<std::uint16_t> bias{nobody};   // the id of the P that needs no `shared`
  // ---- under the lock, all accesses relaxed: atomic for race detectors, which do not see the lock ----
  atomic<std::uint16_t> last_user{nobody};   // who took `shared` last, so many times
  atomic<std::uint16_t> uses{0};
  atomic<bool> is_shared{true};              // the bias is nobody's
};

// Not aligned to a line: an aligned operator new costs 70 ns more than the plain one.
struct alignas(16) chan_core {
  using drop_fn = void (*)(void* slot) noexcept;   // destroys the value in a slot; null: nothing to do

  // ---- under the lock; count, closed and the heads are also looked at without it ----
  chan_lock lock;
  atomic<std::uint32_t> count{0};       // slots in use
  std::uint32_t capacity;
  std::uint32_t send_at = 0;            // the slot that the next send fills
  std::uint32_t recv_at = 0;            // the slot that the next receive empties
  std::uint16_t slot_size;
  atomic<bool> closed{false};
  bool timed = false;                   // a timer fills it (src/timer/timer_channel.hpp); constant
  wait_queue receivers;
  wait_queue senders;

  // ---- constant, or atomic ----
  drop_fn drop;
  atomic<std::uint32_t> handles{1};
  alignas(16) std::byte slots[16];      // the first two words of the slots; the rest lies behind

  std::byte* slot(std::uint32_t i) noexcept {
    return reinterpret_cast<std::byte*>(this) + first_slot + std::size_t{i} * slot_size;
  }
  static constexpr std::size_t first_slot = 80;   // offset of `slots`

  // Whether a call that does not wait would fail, without the lock. Each answer was true at some instant of
  // the call. Not closed, then full: closing makes a send fail in another way, so at the first look it would
  // have blocked.
  bool send_would_block() const noexcept {
    // [order] acquire: the looks happen in this order; pairs with the release stores under the lock.
    if (closed.load(acquire)) return false;
    return capacity == 0 ? receivers.head.load(acquire) == nullptr : count.load(acquire) == capacity;
  }
  // Empty, then not closed: had it been closed when it was seen empty, it would be closed now.
  bool recv_would_block() const noexcept {
    return !timed && seems_empty() && !closed.load(acquire);   // [order] as above
  }
  bool seems_empty() const noexcept {
    // [order] as above
    return capacity == 0 ? senders.head.load(acquire) == nullptr : count.load(acquire) == 0;
  }

 private:
  friend chan_core* chan_make(std::ptrdiff_t, std::size_t, drop_fn);
  friend struct timer_channel;
  chan_core(std::uint32_t cap, std::uint16_t size, drop_fn d) noexcept
      : capacity(cap), slot_size(size), drop(d) {}
};

// One allocation for core and slots. Throws std::length_error when the size is negative or does not fit.
chan_core* chan_make(std::ptrdiff_t capacity, std::size_t slot_size, chan_core::drop_fn drop);
void chan_destroy(chan_core* c) noexcept;   // the last handle is gone

enum class chan_status : std::uint8_t { done, closed, would_block, timed_out, stopped };

// Park until done. False: the channel is closed (receiving: and empty), the value was not taken / nothing was
// written.
bool chan_send(chan_core* c, const void* value);
bool chan_recv(chan_core* c, void* place);
// Do not park: done, closed or would_block.
chan_status chan_try_send(chan_core* c, const void* value) noexcept;
chan_status chan_try_recv(chan_core* c, void* place) noexcept;
// After a look from outside that found nothing to do: a goroutine that does nothing but look over and over
// again has a slice too, and this is where it ends. Keeps the thread.
void chan_polled() noexcept;
// Park within limits: done, closed, timed_out or stopped. A null core is the nil channel. A stop request that
// came before the call wins over everything; a value that can move at once wins over a deadline in the past.
chan_status chan_send_within(chan_core* c, const void* value, const detail::wait_limits& limits);
chan_status chan_recv_within(chan_core* c, void* place, const detail::wait_limits& limits);

bool chan_close(chan_core* c) noexcept;     // false: it was closed already. Does not park.
[[noreturn]] void chan_send_nil(); // parks for ever
[[noreturn]] void chan_recv_nil();

// A counted reference to a core, or nil.
class chan_ref {
 public:
  constexpr chan_ref() noexcept = default;
  explicit chan_ref(chan_core* adopted) noexcept : core_(adopted) {}
  chan_ref(const chan_ref& other) noexcept : core_(other.core_) {
    if (core_) core_->handles.fetch_add(1, relaxed);  // [order] relaxed: we hold one, so it cannot reach zero
  }
  chan_ref(chan_ref&& other) noexcept : core_(other.core_) { other.core_ = nullptr; }
  // Two, not one by value: `c = {}` in a template would not destroy the parameter (Clang 14).
  chan_ref& operator=(const chan_ref& other) noexcept { return *this = chan_ref(other); }
  chan_ref& operator=(chan_ref&& other) noexcept {
    chan_ref old(static_cast<chan_ref&&>(*this));
    core_ = other.core_;
    other.core_ = nullptr;
    return *this;
  }
  ~chan_ref() {
    // [order] acq_rel: what every holder did happens before the last one destroys it.
    if (core_ && core_->handles.fetch_sub(1, acq_rel) == 1) chan_destroy(core_);
  }
  chan_core* get() const noexcept { return core_; }

 private:
  chan_core* core_ = nullptr;
};

}  // namespace weft::inline v0::rt
