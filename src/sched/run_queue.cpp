// run_queue.cpp — the operations of run_queue.hpp that are not on every switch.
#include "sched/run_queue.hpp"

#include "base/check.hpp"

namespace weft::inline v0::rt {

bool stealable_queue::empty() const noexcept {
  // Reading head, tail and run_next one after the other could miss a G on its way from run_next to the ring:
  // tail is read again; unchanged means that the three belong together. [order] acquire: keeps them in order
  for (;;) {
    const std::uint32_t h = head_.load(acquire);
    const std::uint32_t t = tail_.load(acquire);
    goroutine* next = run_next_.load(acquire);
    if (t == tail_.load(acquire)) return h == t && next == nullptr;
  }
}

std::uint32_t stealable_queue::size() const noexcept {
  // [order] acquire: in this order; relaxed: comes after both anyway
  for (;;) {
    const std::uint32_t h = head_.load(acquire);
    const std::uint32_t t = tail_.load(acquire);
    if (h == head_.load(relaxed)) return t - h;
  }
}

goroutine* stealable_queue::steal_next() noexcept {
  if (run_next_.load(relaxed) == nullptr) return nullptr;           // [order] relaxed: a hint
  if (thief_at_next_.exchange(true, acquire)) return nullptr;       // T1. [order] acquire: pairs with T3
  heavy_barrier();
  goroutine* gp = nullptr;
  // T2. [order] acquire: of the flag, pairs with O3; of the G, with put_next()
  if (!owner_at_next_.load(acquire)) gp = run_next_.exchange(nullptr, acquire);
  thief_at_next_.store(false, release);                             // T3. [order] release: pairs with O2, T1
  return gp;
}

goroutine* stealable_queue::steal_half(run_queue& into, bool next_too, std::uint32_t& stolen) noexcept {
  const std::uint32_t into_tail = into.tail_.load(relaxed);         // [order] relaxed: ours
  for (;;) {
    std::uint32_t h = head_.load(acquire);                          // [order] acquire: pairs with the takers
    const std::uint32_t t = tail_.load(acquire);                    // [order] acquire: pairs with put()
    std::uint32_t n = t - h;
    n -= n / 2;
    if (n == 0) {
      goroutine* gp = next_too ? steal_next() : nullptr;
      stolen = gp ? 1 : 0;
      return gp;
    }
    if (n > capacity / 2) continue;                                 // h and t did not belong together
    WEFT_DCHECK(into.size() == 0);
    goroutine* last = nullptr;
    for (std::uint32_t i = 0; i < n; ++i) {
      goroutine* gp = ring_[(h + i) % capacity].load(relaxed);      // [order] relaxed: the CAS below decides
      if (i == n - 1)
        last = gp;
      else
        into.ring_[(into_tail + i) % capacity].store(gp, relaxed);
    }
    if (head_.compare_exchange_strong(h, h + n, acq_rel, relaxed)) {
      into.tail_.store(into_tail + n - 1, release);                 // [order] release: others may steal now
      stolen = n;
      return last;
    }
  }
}

bool run_queue::take_oldest(std::uint32_t h, std::uint32_t n, goroutine** into) noexcept {
  // [order] relaxed, acq_rel: the slots are ours, and free again, once the CAS has moved the head
  for (std::uint32_t i = 0; i < n; ++i) into[i] = ring_[(h + i) % capacity].load(relaxed);
  return head_.compare_exchange_strong(h, h + n, acq_rel, relaxed);
}

bool run_queue::spill(goroutine* gp, goroutine** into) noexcept {
  const std::uint32_t h = head_.load(acquire);                      // [order] acquire: pairs with the takers
  if (tail() - h != capacity || !take_oldest(h, capacity / 2, into)) return false;
  into[capacity / 2] = gp;
  return true;
}

std::uint32_t run_queue::drain_ring(goroutine** into) noexcept {
  for (;;) {
    const std::uint32_t h = head_.load(acquire);                    // [order] acquire: pairs with the takers
    const std::uint32_t n = tail() - h;
    if (n == 0 || take_oldest(h, n, into)) return n;
  }
}

std::uint32_t run_queue::drain(goroutine** into) noexcept {
  std::uint32_t n = 0;
  if (goroutine* gp = swap_next(nullptr)) into[n++] = gp;
  return n + drain_ring(into + n);
}

}  // namespace weft::inline v0::rt
