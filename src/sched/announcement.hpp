// announcement.hpp — what an M says about a blocking call (blocking.cpp): one word, that its thread writes.
//
//   | the stay outside: 48 bits of the gate | the call's number: 16 bits; odd while it goes on |
//
// I1  the same odd word at two looks of sysmon: the same call, unless 32,768 of them lie in between
// I2  when the gate has moved on, whatever it says is out of date: the goroutine may be elsewhere
#pragma once
#include "sched/lease.hpp"

namespace weft::inline v0::rt {

class announcement_word {
 public:
  // Outside. One that begins inside another takes its place. [order] relaxed: a hint for sysmon
  void begin(std::uint64_t gate) noexcept {
    word_.store(gate << number_bits | (((word_.load(relaxed) + 1) | 1) & number_mask), relaxed);
  }
  void end() noexcept { word_.store((word_.load(relaxed) | 1) + 1, relaxed); }   // [order] as above

  std::uint64_t look() const noexcept { return word_.load(relaxed); }           // [order] relaxed: a hint
  static bool goes_on(std::uint64_t seen, std::uint64_t gate) noexcept {
    return seen % 2 != 0 && seen >> number_bits == gate << number_bits >> number_bits;
  }

 private:
  static constexpr unsigned number_bits = 16;
  static constexpr std::uint64_t number_mask = (std::uint64_t{1} << number_bits) - 1;
  atomic<std::uint64_t> word_{0};
};

}  // namespace weft::inline v0::rt
