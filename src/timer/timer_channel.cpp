// timer_channel.cpp — see timer_channel.hpp; and the public functions on such channels (weft/timer.hpp).
#include "timer/timer_channel.hpp"

#include <new>
#include <type_traits>

#include "chan/chan_ops.hpp"
#include "os/os.hpp"
#include "sched/inside.hpp"
#include "sched/timers.hpp"
#include "timer/timer_slab.hpp"
#include "weft/timer.hpp"

namespace weft::inline v0::rt {

constexpr std::int64_t stopped = -1;
constexpr std::int64_t retry_after = 1'000;   // the channel was locked: a few operations

static_assert(std::is_trivially_copyable_v<detail::tick> && sizeof(detail::tick) == sizeof(std::int64_t));

struct timer_channel {
  chan_core core;                  // first; its one slot is core.slots
  timer_slot* slot = nullptr;
  std::int64_t when;
  std::int64_t period;             // 0: once

  timer_channel(std::int64_t first, std::int64_t every) noexcept
      : core(1, sizeof(detail::tick), nullptr), when(first), period(every) {   // never biased: any P fires it
    core.timed = true;
  }
  static timer_channel& of(chan_core& c) noexcept { return reinterpret_cast<timer_channel&>(c); }

  // [order] relaxed: under the lock.
  bool has_event() const noexcept { return core.count.load(relaxed) != 0; }
  bool has_receiver() const noexcept { return core.receivers.head.load(relaxed) != nullptr; }
  void refresh(std::int64_t now) noexcept;
  bool forget() noexcept;          // true: an event was to come or waits
  void arm() noexcept;
};
static_assert(offsetof(timer_channel, core) == 0);
static_assert(chan_core::first_slot + sizeof(detail::tick) <= sizeof(chan_core));

void timer_channel::refresh(std::int64_t now) noexcept {
  if (when == stopped || now < when || when == os::forever) return;
  const std::int64_t due = when;
  when = stopped;
  if (period > 0 && __builtin_add_overflow(due, (now - due) / period * period, &when)) when = os::forever;
  if (period > 0 && __builtin_add_overflow(when, period, &when)) when = os::forever;
  if (has_event()) return;         // a tick that nobody took: this one is dropped
  const detail::tick value{detail::tick::duration(due)};
  std::memcpy(core.slot(0), &value, sizeof value);
  core.count.store(1, relaxed);    // [order] relaxed: nobody looks at a timer's count without the lock
}

bool timer_channel::forget() noexcept {
  const bool had = has_event() || when != stopped;
  when = stopped;
  core.count.store(0, relaxed);    // [order] as above
  return had;
}

void timer_channel::arm() noexcept {
  if (when != stopped && slot->node.when() != when) arm_timer(slot->node, when);
}

namespace {

// The first receiver that nobody else has woken gets the event.
void hand_over(timer_channel& t, ready_batch& out) noexcept {
  wakeup k;
  waiter* w = t.has_event() ? take(t.core.receivers, k) : nullptr;
  if (!w) return;
  sanitizer::hb_acquire(w);
  sanitizer::hb_acquire(t.core.slot(0));
  copy_slot(w->slot, t.core.slot(0), t.core.slot_size);
  sanitizer::hb_release(w);
  w->success = true;
  t.core.count.store(0, relaxed);  // [order] as in refresh()
  k.deliver_to(out);
}

std::int64_t fire(timer_node& node, std::int64_t now, ready_batch& out) noexcept {
  auto& t = *static_cast<timer_channel*>(timer_slot::of(node).owner);
  if (!t.core.lock.shared.try_lock()) return now + retry_after;   // I2
  t.refresh(now);
  hand_over(t, out);
  const std::int64_t next = t.has_receiver() && t.when != stopped ? t.when : timer_node::disarmed;
  t.core.lock.shared.unlock();
  return next;
}

}  // namespace

void timer_channel_refresh(chan_core& c) noexcept { timer_channel::of(c).refresh(os::nanotime()); }
void timer_channel_watch(chan_core& c) noexcept { timer_channel::of(c).arm(); }

void timer_channel_destroy(chan_core* c) noexcept {
  timer_channel* t = &timer_channel::of(*c);
  {
    inside in;
    quiesce(t->slot->node);        // I4
    give_timer_slot(t->slot);
  }
  delete t;
}

}  // namespace weft::inline v0::rt

namespace weft::inline v0::detail {

recv_chan<tick> make_timer_channel(std::int64_t when, std::int64_t period) {
  auto* t = new rt::timer_channel(when, period);
  {
    rt::inside in;
    t->slot = rt::take_timer_slot(t, rt::fire);
  }
  if (!t->slot) {
    delete t;
    throw std::bad_alloc();
  }
  rt::sanitizer::hb_release(t->core.slot(0));
  return chan_access::adopt<tick>(&t->core);
}

bool stop_timer_channel(const recv_chan<tick>& channel) noexcept {
  auto& t = rt::timer_channel::of(*chan_access::core(channel));
  rt::inside in;
  rt::locked guard(t.core.lock.shared);
  rt::quiesce(t.slot->node);
  return t.forget();
}

bool reset_timer_channel(const recv_chan<tick>& channel, std::int64_t when, std::int64_t period) noexcept {
  auto& t = rt::timer_channel::of(*chan_access::core(channel));
  rt::inside in;
  rt::sanitizer::hb_release(t.core.slot(0));
  rt::locked guard(t.core.lock.shared);
  rt::quiesce(t.slot->node);
  const bool had = t.forget();
  t.when = when;
  t.period = period;
  if (t.has_receiver()) t.arm();
  return had;
}

}  // namespace weft::inline v0::detail
