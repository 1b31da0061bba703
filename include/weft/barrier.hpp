// barrier.hpp — a group meets again and again: nobody goes on before all have arrived.
#pragma once
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

#include "weft/detail/deadline.hpp"
#include "weft/detail/wait_list.hpp"

namespace weft::inline v0 {
namespace detail {

class barrier_core {
 public:
  static constexpr std::ptrdiff_t max = 0x7fff'ffff;

  explicit constexpr barrier_core(std::ptrdiff_t expected) noexcept
      : word_(static_cast<std::uint64_t>(expected)), expected_(expected) {}
  ~barrier_core() { list_.check_destroyed("barrier"); }

  // [order] relaxed: of a participant.
  std::uint32_t phase() const noexcept { return phase_of(word_.load(rt::relaxed)); }
  // True for the last of the phase: it must call next_phase().
  bool arrive(std::ptrdiff_t n) noexcept {
    // [order] acq_rel: the last arrival sees what all others did before theirs; released to wait() by
    // next_phase().
    const std::uint64_t before = word_.fetch_sub(static_cast<std::uint64_t>(n), rt::acq_rel);
    return static_cast<std::uint32_t>(before) == static_cast<std::uint64_t>(n);
  }
  // [order] relaxed: read by the last arrival only, which is ordered after by arrive().
  void drop() noexcept { expected_.fetch_sub(1, rt::relaxed); }
  void next_phase() noexcept;
  void wait(std::uint32_t phase) {
    // [order] acquire pairs with next_phase().
    if (phase_of(word_.load(rt::acquire)) == phase) wait_slow(phase);
  }

 private:
  // word_: phase * 2^33 + waiters * 2^32 + arrivals that are missing. waiters: the list may have some.
  static constexpr std::uint64_t waiters = 1ull << 32;
  static constexpr std::uint32_t phase_of(std::uint64_t word) noexcept {
    return static_cast<std::uint32_t>(word >> 33);
  }
  void wait_slow(std::uint32_t phase);

  rt::atomic<std::uint64_t> word_;
  rt::atomic<std::ptrdiff_t> expected_;
  wait_list list_;
};

struct no_completion {
  void operator()() noexcept {}
};

}  // namespace detail

// std::barrier. One that waits parks its goroutine (blocks a plain thread). All functions: from any goroutine
// or thread. The last to arrive runs the completion function, which may itself park; what happened before
// each arrival is visible to it, and what it did to everybody who goes on. Whoever has returned from its last
// wait may destroy the barrier.
template <class CompletionFunction = detail::no_completion>
class barrier {
  static_assert(std::is_nothrow_invocable_v<CompletionFunction&>);

 public:
  class [[nodiscard]] arrival_token {
   public:
    arrival_token(arrival_token&&) noexcept = default;
    arrival_token& operator=(arrival_token&&) noexcept = default;

   private:
    friend class barrier;
    explicit arrival_token(std::uint32_t phase) noexcept : phase_(phase) {}
    std::uint32_t phase_;
  };

  static constexpr std::ptrdiff_t max() noexcept { return detail::barrier_core::max; }

  // 0 <= expected <= max().
  explicit constexpr barrier(std::ptrdiff_t expected, CompletionFunction f = CompletionFunction())
      : core_(expected), completion_(std::move(f)) {}
  barrier(const barrier&) = delete;
  barrier& operator=(const barrier&) = delete;

  // Does not park itself (the completion function may) and keeps the thread. n must not exceed what is
  // missing.
  arrival_token arrive(std::ptrdiff_t n = 1) {
    arrival_token token(core_.phase());
    if (core_.arrive(n)) complete();
    return token;
  }
  // Parks until the phase of the token is complete.
  void wait(arrival_token&& token) const { core_.wait(token.phase_); }
  void arrive_and_wait() { wait(arrive()); }
  // As arrive(), and the group is one smaller from the next phase on.
  void arrive_and_drop() {
    core_.drop();
    if (core_.arrive(1)) complete();
  }

 private:
  void complete() {
    completion_();
    core_.next_phase();
  }

  mutable detail::barrier_core core_;
  [[no_unique_address]] CompletionFunction completion_;
};

}  // namespace weft::inline v0
