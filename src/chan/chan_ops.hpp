// chan_ops.hpp — what one send or one receive does under the channel's lock.
//
//   inside; lock(c);
//   wakeup k;
//   switch (send_locked(c, value, k)) {
//     case attempt::done:    unlock; k.deliver();        <- never the other way round
//     case attempt::closed:  unlock;
//     case attempt::blocked: queue a waiter and park, with unlock in the commit
//   }
//
// The edges for the race detector are Go's: through the slot for a buffered value, both ways between the two
// sides of a hand-off (by the waiter's address). A hand-off on a buffered channel pretends to go through the
// buffer, so the k-th receive and the (k+C)-th send still meet at one slot. Where Go acts in the parked
// goroutine's name, the waker passes the edge on through its own clock, which can only hide a race, never
// invent one. The last edge comes after the copy: a waiter that was claimed early is not made ready by us.
#pragma once
#include <cstring>

#include "chan/chan_lock.hpp"
#include "context/sanitizer.hpp"
#include "timer/timer_channel.hpp"
#include "wait/waiter.hpp"
#include "weft/detail/chan_core.hpp"

namespace weft::inline v0::rt {

// ---- the queues; under the lock ----

// For an operation that was blocked and is about to park.
inline void enqueue(chan_core& c, wait_queue& q, waiter* w) noexcept {
  push_back(q, w);
  if (c.timed) [[unlikely]] timer_channel_watch(c);
}

// The longest waiting one that nobody else has woken, taken out and claimed. Null: there is none.
inline waiter* take(wait_queue& q, wakeup& k) noexcept {
  while (waiter* w = q.head.load(relaxed)) {   // [order] relaxed: only changed under the lock
    remove(q, w);
    k = w->claim();
    if (k.won) [[likely]] return w;
  }
  return nullptr;
}

// ---- slots ----

inline void copy_slot(void* to, const void* from, std::uint32_t size) noexcept {
  // The usual sizes as single moves. memcpy of the rest is libc's, which takes no lock.
  if (size == 8) std::memcpy(to, from, 8);
  else if (size == 4) std::memcpy(to, from, 4);
  else if (size == 16) std::memcpy(to, from, 16);
  else if (size != 0) std::memcpy(to, from, size);
}

inline void advance(std::uint32_t& at, const chan_core& c) noexcept {
  if (++at == c.capacity) at = 0;
}

inline void hb_meet(const void* address) noexcept {   // everybody who passes here is ordered with all before
  sanitizer::hb_acquire(address);
  sanitizer::hb_release(address);
}

// ---- the two operations; under the lock ----

enum class attempt : std::uint8_t { done, closed, blocked };

inline attempt send_locked(chan_core& c, const void* value, wakeup& k) noexcept {
  // [order] relaxed: changed under the lock
  if (c.closed.load(relaxed)) [[unlikely]] return attempt::closed;
  if (waiter* w = take(c.receivers, k)) {
    sanitizer::hb_acquire(w);
    if (c.capacity != 0) {   // through the buffer, as it were
      hb_meet(c.slot(c.send_at));
      advance(c.send_at, c);
      c.recv_at = c.send_at;
    }
    copy_slot(w->slot, value, c.slot_size);
    sanitizer::hb_release(w);
    w->success = true;
    return attempt::done;
  }
  const std::uint32_t count = c.count.load(relaxed);   // [order] relaxed: changed under the lock
  if (count == c.capacity) return attempt::blocked;
  std::byte* slot = c.slot(c.send_at);
  sanitizer::hb_acquire(slot);
  copy_slot(slot, value, c.slot_size);
  sanitizer::hb_release(slot);
  advance(c.send_at, c);
  c.count.store(count + 1, release);   // [order] release: pairs with the lock-free looks
  return attempt::done;
}

inline attempt recv_locked(chan_core& c, void* place, wakeup& k) noexcept {
  if (c.timed) [[unlikely]] timer_channel_refresh(c);
  const std::uint32_t count = c.count.load(relaxed);   // [order] relaxed: changed under the lock
  waiter* w = take(c.senders, k);
  if (w) {
    sanitizer::hb_acquire(w);
    if (c.capacity == 0) {
      copy_slot(place, w->slot, c.slot_size);
    } else {   // full: the head for us, the sender's value into the slot that it leaves
      std::byte* slot = c.slot(c.recv_at);
      sanitizer::hb_acquire(slot);
      copy_slot(place, slot, c.slot_size);
      copy_slot(slot, w->slot, c.slot_size);
      sanitizer::hb_release(slot);   // after the copies: ThreadSanitizer sees libc's memcpy
      advance(c.recv_at, c);
      c.send_at = c.recv_at;
    }
    sanitizer::hb_release(w);
    w->success = true;
    return attempt::done;
  }
  if (count != 0) {
    std::byte* slot = c.slot(c.recv_at);
    sanitizer::hb_acquire(slot);
    copy_slot(place, slot, c.slot_size);
    sanitizer::hb_release(slot);
    advance(c.recv_at, c);
    c.count.store(count - 1, release);   // [order] release: pairs with the lock-free looks
    return attempt::done;
  }
  if (!c.closed.load(relaxed)) return attempt::blocked;   // [order] relaxed: changed under the lock
  sanitizer::hb_acquire(&c);
  return attempt::closed;
}

}  // namespace weft::inline v0::rt
