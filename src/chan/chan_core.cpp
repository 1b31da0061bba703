// chan_core.cpp — make, send, receive (weft/detail/chan_core.hpp).
//
// Each operation: the fast path inline here, one unlikely call to park. A waiter lies on the parked
// goroutine's stack; whoever completes the operation has taken it out of the queue, so an uncontested wait
// needs no lock after it. A contested one (deadline, stop request) takes the lock again: to leave the queue
// if it lost, and to be sure that a winner which claimed before the commit has finished writing.
#include <algorithm>
#include <cstddef>
#include <new>

#include "chan/chan_ops.hpp"
#include "sched/inside.hpp"
#include "wait/timed_wait.hpp"
#include "weft/error.hpp"

namespace weft::inline v0::rt {

static_assert(sizeof(chan_core) <= 128 && alignof(chan_core) <= __STDCPP_DEFAULT_NEW_ALIGNMENT__ &&
              offsetof(chan_core, slots) == chan_core::first_slot);

namespace {

constexpr std::uint64_t most_slots = 0xffffffff;
constexpr std::uint64_t most_bytes = std::uint64_t{1} << 47;

void release_channel(void* c) noexcept { unlock(*static_cast<chan_core*>(c)); }

struct contested_parking {   // of a contested wait, which nobody can resume before commit_parked
  chan_core* c;              // null: the nil channel
  goroutine* gp;
};

void unlock_contested(void* arg) noexcept {
  const contested_parking p = *static_cast<contested_parking*>(arg);
  if (p.c) unlock(*p.c);
  commit_parked(p.gp);
}

// With the lock, which it gives back. True: done. False: closed.
[[gnu::noinline]] bool park_in(wait_queue chan_core::*queue, chan_core& c, void* slot,
                               wait_reason reason) noexcept {
  waiter w;
  w.gp = current();
  w.slot = slot;
  enqueue(c, c.*queue, &w);
  sanitizer::hb_release(&w);
  park(reason, release_channel, &c);
  sanitizer::hb_acquire(&w);
  return w.success;
}

// The same within limits.
chan_status park_within(wait_queue chan_core::*queue, chan_core& c, void* slot, wait_reason reason,
                        wait_scope& scope) noexcept {
  waiter w;
  w.gp = scope.owner();
  w.slot = slot;
  w.contested = true;
  enqueue(c, c.*queue, &w);
  sanitizer::hb_release(&w);
  contested_parking p{&c, w.gp};
  const woken_by by = scope.park(reason, unlock_contested, &p);
  lock(c);
  remove(c.*queue, &w);
  unlock(c);
  if (by == woken_by::timeout) return chan_status::timed_out;
  if (by == woken_by::stop) return chan_status::stopped;
  sanitizer::hb_acquire(&w);
  return w.success ? chan_status::done : chan_status::closed;
}

chan_status park_on_nil(wait_reason reason, wait_scope& scope) noexcept {
  contested_parking p{nullptr, scope.owner()};
  return scope.park(reason, unlock_contested, &p) == woken_by::timeout ? chan_status::timed_out
                                                                      : chan_status::stopped;
}

// The common body of send_within and recv_within; `try_it` is the operation under the lock.
template <class Try>
chan_status within(chan_core* c, wait_queue chan_core::*queue, void* slot, wait_reason reason,
                   wait_reason nil_reason, const detail::wait_limits& limits, Try try_it) {
  wait_scope scope(limits);
  if (scope.is_stopped()) return chan_status::stopped;
  const bool expired = scope.is_expired();
  inside_parking in;
  if (!c) return expired ? chan_status::timed_out : park_on_nil(nil_reason, scope);
  lock(*c);
  wakeup k;
  const attempt how = try_it(k);
  if (how == attempt::blocked && !expired) return park_within(queue, *c, slot, reason, scope);
  unlock(*c);
  k.deliver();
  if (how == attempt::blocked) return chan_status::timed_out;
  return how == attempt::done ? chan_status::done : chan_status::closed;
}

constexpr chan_status to_status(attempt how) noexcept {
  return how == attempt::done ? chan_status::done
         : how == attempt::closed ? chan_status::closed : chan_status::would_block;
}

}  // namespace

chan_core* chan_make(std::ptrdiff_t capacity, std::size_t slot_size, chan_core::drop_fn drop) {
  const auto n = static_cast<std::uint64_t>(capacity);   // a negative one is huge
  if (n > most_slots || n * slot_size > most_bytes) detail::throw_bad_chan_size();
  void* block = ::operator new(std::max(sizeof(chan_core), chan_core::first_slot + n * slot_size));
  auto* c = ::new (block)
      chan_core(static_cast<std::uint32_t>(n), static_cast<std::uint16_t>(slot_size), drop);
  choose_bias(*c);
  return c;
}

bool chan_send(chan_core* c, const void* value) {
  inside_parking in;
  lock(*c, in.before_park());
  wakeup k;
  const attempt how = send_locked(*c, value, k);
  if (how == attempt::blocked) [[unlikely]]
    return park_in(&chan_core::senders, *c, const_cast<void*>(value), wait_reason::chan_send);
  unlock(*c, in.before_park());
  k.deliver();
  return how == attempt::done;
}

bool chan_recv(chan_core* c, void* place) {
  inside_parking in;
  lock(*c, in.before_park());
  wakeup k;
  const attempt how = recv_locked(*c, place, k);
  if (how == attempt::blocked) [[unlikely]]
    return park_in(&chan_core::receivers, *c, place, wait_reason::chan_receive);
  unlock(*c, in.before_park());
  k.deliver();
  return how == attempt::done;
}

void chan_polled() noexcept {
  machine* mp = this_machine();
  // [order] relaxed: a request, no data with it
  if (mp != nullptr && mp->mark.load(relaxed) != 0) [[unlikely]] leave_slow(mp);
}

chan_status chan_try_send(chan_core* c, const void* value) noexcept {
  if (c->send_would_block()) return chan_polled(), chan_status::would_block;
  inside in;
  lock(*c);
  wakeup k;
  const attempt how = send_locked(*c, value, k);
  unlock(*c);
  k.deliver();
  return to_status(how);
}

chan_status chan_try_recv(chan_core* c, void* place) noexcept {
  if (c->recv_would_block()) return chan_polled(), chan_status::would_block;
  inside in;
  lock(*c);
  wakeup k;
  const attempt how = recv_locked(*c, place, k);
  unlock(*c);
  k.deliver();
  return to_status(how);
}

chan_status chan_send_within(chan_core* c, const void* value, const detail::wait_limits& limits) {
  return within(c, &chan_core::senders, const_cast<void*>(value), wait_reason::chan_send,
                wait_reason::chan_send_nil, limits,
                [&](wakeup& k) noexcept { return send_locked(*c, value, k); });
}

chan_status chan_recv_within(chan_core* c, void* place, const detail::wait_limits& limits) {
  return within(c, &chan_core::receivers, place, wait_reason::chan_receive, wait_reason::chan_receive_nil,
                limits, [&](wakeup& k) noexcept { return recv_locked(*c, place, k); });
}

void chan_send_nil() {
  inside_parking in;
  park_for_ever(wait_reason::chan_send_nil);
}

void chan_recv_nil() {
  inside_parking in;
  park_for_ever(wait_reason::chan_receive_nil);
}

}  // namespace weft::inline v0::rt
