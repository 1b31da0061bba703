// poll_desc.hpp — a descriptor that the kernel watches, and the goroutines that wait for it.
//
// Each direction counts its edges (the kernel has said "ready") and remembers the number at which somebody
// last found nothing left. They are equal: nothing can have come since, and it parks without asking the
// kernel.
//
//   an operation                                       the poller
//   A1  seen = edges                                   K1  the kernel: ready
//   A2  read(): EAGAIN, or less than was asked for     K2  lock; ++edges; take who waits; unlock; ready
//   A3  drained = seen
//   A4  lock; edges == drained? queue, unlock, park
//
// No edge is lost: for what comes after A2, K1 is after A2 and K2 after A1, so edges != seen from then on: A4
// sees that, or K2 finds the waiter. K2 takes all who wait: nobody waits while there may be something. An
// edge for what A2 has read already costs one attempt in vain. A stream's end may have come with the data, in
// one edge: after that less than was asked for proves nothing (`more`).
//
//   free ──begin()──> open ──close()──> closing ──the last operation has left──> closed ──disown()──> free
//                               new ones fail, who waits is woken; the handle may go before that
//
// I1  memory is type-stable; a token of the kernel's names a poll_desc and the use it was made in, a late one
//     is recognised, and would only cause an attempt in vain
// I2  the descriptor is not closed while an operation uses it: its number cannot be another one's meanwhile
// I3  a deadline stays until it is changed: after it every operation of that direction times out
#pragma once
#include "netpoll/backend.hpp"
#include "wait/wait_list.hpp"
#include "weft/mutex.hpp"

namespace weft::inline v0::rt {

enum class ready_by : std::uint8_t { kernel, timeout, stop, close };

class poll_desc;

class poll_direction {
 public:
  // [order] acquire: A1 comes before A2. relaxed, the others: hints, an attempt in vain at worst; `more_` was
  // set before the edge that `seen` counts
  std::uint32_t edges() const noexcept { return edges_.load(acquire); }                  // A1
  bool may_be_ready() const noexcept { return edges() != drained_.load(relaxed); }
  void note_drained(std::uint32_t seen) noexcept { drained_.store(seen, relaxed); }      // A3
  void note_short(std::uint32_t seen) noexcept {     // A3 after less than was asked for, of a stream
    if (!more_.load(relaxed)) note_drained(seen);
  }

  // Outside. Whether an operation may begin (kernel), or its time is over.
  ready_by check(const detail::wait_limits& limits) const noexcept;
  // Outside. Parks until there may be something (kernel), or there will not be.
  ready_by wait(const detail::wait_limits& limits, const poll_desc& d);

  // Inside.
  void note_edge(bool more, ready_batch& out) noexcept;               // K2; who waited is in `out`
  void set_deadline(std::int64_t deadline) noexcept;
  void wake_all() noexcept;                                           // they look again
  void reset() noexcept;

 private:
  ready_by wait_as_thread(const detail::wait_limits& limits, const poll_desc& d);

  detail::wait_list list_;
  atomic<std::uint32_t> edges_{1}, drained_{0};
  atomic<bool> more_{false};
  atomic<std::int64_t> deadline_{detail::never};
};

class alignas(cache_line) poll_desc {
 public:
  poll_direction read, write;
  mutex write_turn;                                  // of who writes more than the kernel takes at once
  poll_desc* next_free = nullptr;                    // poll_cache.cpp

  // ---- operations; outside ----
  int fd() const noexcept { return fd_; }
  bool is_watched() const noexcept { return watched_; }   // else its operations block the thread
  // [order] acquire: pairs with begin() and close()
  bool is_closing() const noexcept { return state_.load(acquire) & closing; }
  bool begin_use() noexcept {                        // false: it is closed
    std::uint32_t seen = state_.load(relaxed);       // [order] relaxed: the exchange decides
    while (!(seen & closing))
      if (state_.compare_exchange_weak(seen, seen + one_use, acquire, relaxed))
        return true;   // [order] as above
    return false;
  }
  void end_use() noexcept {
    const int fd = fd_;
    sanitizer::hb_release(this);
    // [order] acq_rel: what each operation did comes before the close
    const std::uint32_t left = state_.fetch_sub(one_use, acq_rel) - one_use;
    if ((left & closing) && left < one_use) [[unlikely]] finish(fd);
  }

  // ---- the handle; outside ----
  void begin(int fd, bool watched) noexcept;
  void close() noexcept;                             // once or more
  void disown() noexcept;                            // after close(): the handle is gone
  void recycle() noexcept;                           // nobody uses it, and the kernel does not watch it

  // ---- the poller; inside ----
  void note_event(const backend::event& e, ready_batch& out) noexcept;
  std::uint64_t token() const noexcept;
  static poll_desc* of(std::uint64_t token) noexcept;   // null: of an earlier use

 private:
  // closed: the kernel's descriptor is. disowned: so it may be used anew as soon as it is closed.
  static constexpr std::uint32_t closing = 1, closed = 2, disowned = 4, one_use = 8;
  static constexpr int address_bits = 48;
  void finish(int fd) noexcept;

  atomic<std::uint32_t> state_{0};
  int fd_ = -1;
  bool watched_ = false;
  atomic<std::uint16_t> use_{0};
};

// poll_cache.cpp. Inside; null: memory has run out.
poll_desc* take_poll_desc() noexcept;
void give_poll_desc(poll_desc* d) noexcept;

}  // namespace weft::inline v0::rt
