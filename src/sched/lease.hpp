// lease.hpp — the words that say who owns a P: an M's gate and its lease: claim.cpp.
//
//   gate    even: the thread is outside; odd: inside. +1 at each crossing, so one even value names one stay
//           outside. Written by its own thread only, with plain stores.
//   lease   {sequence, processor, state}
//           none     the M has no P
//           held     the P is the M's
//           claimed  somebody asks whether the M is outside; the M may take it back by CAS
//           taken    the P is the claimer's
//           From outside changed by compare-and-swap only; the M itself stores plainly while inside, because
//           no claim can reach `taken` while the gate is odd.
#pragma once
#include "base/atomic.hpp"
#include "base/check.hpp"

namespace weft::inline v0::rt {

class gate_word {
 public:
  // W1. [order] relaxed: the light barrier after it orders it before the look at the lease.
  void enter() noexcept { word_.store(word_.load(relaxed) + 1, relaxed); }
  // W2. [order] release: what the M did to its P is visible to a claimer that reads this value (acquire).
  void leave() noexcept { word_.store(word_.load(relaxed) + 1, release); }
  std::uint64_t look() const noexcept { return word_.load(acquire); }
  static bool is_outside(std::uint64_t seen) noexcept { return seen % 2 == 0; }

 private:
  atomic<std::uint64_t> word_{0};
};

enum class lease_state : std::uint64_t { none, held, claimed, taken };

class lease_word {
 public:
  struct value {
    std::uint64_t bits;
    lease_state state() const noexcept { return static_cast<lease_state>(bits & 3); }
    std::uint32_t processor() const noexcept { return static_cast<std::uint32_t>(bits >> 2 & 0xffff); }
    value next(lease_state s) const noexcept { return next(s, processor()); }
    value next(lease_state s, std::uint32_t processor_id) const noexcept {
      return {((bits >> 18) + 1) << 18 | std::uint64_t{processor_id} << 2 | static_cast<std::uint64_t>(s)};
    }
    // The same sequence, another state: from claimed to taken and from taken back to held.
    value with(lease_state s) const noexcept {
      return {(bits & ~std::uint64_t{3}) | static_cast<std::uint64_t>(s)};
    }
  };

  // R1. [order] relaxed: ordered after the gate by the light barrier.
  bool is_mine() const noexcept { return word_.load(relaxed) == mine_; }
  value look() const noexcept { return {word_.load(acquire)}; }

  // The M itself, inside.
  void hold(std::uint32_t processor_id) noexcept { set(look().next(lease_state::held, processor_id)); }
  void drop() noexcept { set(look().next(lease_state::none)); }
  // The M as its own claimer: the P is taken, and `mine_` is left behind, so that the next crossing notices.
  // [order] release: as in set()
  void surrender() noexcept { word_.store(look().next(lease_state::taken).bits, release); }
  // The same without a P: there is none that a claimer could give back. [order] release: as in set()
  void go_without() noexcept { word_.store(look().next(lease_state::taken, no_processor).bits, release); }
  void copy(value v) noexcept { mine_ = v.bits; }

  // Anybody. [order] acq_rel: the P's contents travel with the lease.
  bool change(value from, value to) noexcept {
    return word_.compare_exchange_strong(from.bits, to.bits, acq_rel, acquire);
  }

 private:
  void set(value v) noexcept {
    mine_ = v.bits;
    word_.store(v.bits, release);   // [order] release: pairs with a claimer's look()
  }
  static constexpr std::uint32_t no_processor = 0xffff;
  atomic<std::uint64_t> word_{0};
  std::uint64_t mine_ = 0;          // what the owner saw last
};

}  // namespace weft::inline v0::rt
