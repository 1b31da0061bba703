// block_warning.cpp — from sysmon to the helper; see the header.
#include "sched/block_warning.hpp"

#include "sched/sched.hpp"

namespace weft::inline v0::rt {
namespace {

constexpr std::int64_t period = 1'000'000'000;      // ns between two lines about one place
constexpr std::uint32_t most_waiting = 16;

struct place {
  const void* pc = nullptr;
  long call = 0;
  std::int64_t next = 0;
  std::uint32_t not_told = 0;
};
place places[64];                                    // sysmon only; by address, a newcomer drives another out

struct {
  ranked_lock<lock_rank::leaf> lock;
  block_warning waiting[most_waiting];
  std::uint32_t begin = 0, count = 0, lost = 0;
} buffer;

place& place_of(const block_warning& what) noexcept {
  const auto at = reinterpret_cast<std::uintptr_t>(what.pc) + static_cast<std::uintptr_t>(what.call);
  return places[(at ^ at >> 6 ^ at >> 12) % 64];
}

}  // namespace

void note_block(const block_warning& what, std::int64_t now) noexcept {
  place& here = place_of(what);
  if (here.pc != what.pc || here.call != what.call) here = {what.pc, what.call};
  if (now < here.next) {
    ++here.not_told;
    return;
  }
  {
    locked hold(buffer.lock);
    if (buffer.count == most_waiting) {
      ++buffer.lost;
      return;
    }
    block_warning& w = buffer.waiting[(buffer.begin + buffer.count++) % most_waiting];
    w = what;
    w.not_told = here.not_told;
  }
  here.next = now + period;
  here.not_told = 0;
  wake_helper(helper_block_warnings);
}

bool next_block_warning(block_warning& into) noexcept {
  locked hold(buffer.lock);
  if (buffer.count == 0) return false;
  into = buffer.waiting[buffer.begin];
  buffer.begin = (buffer.begin + 1) % most_waiting;
  --buffer.count;
  return true;
}

std::uint32_t take_lost_warnings() noexcept {
  locked hold(buffer.lock);
  const std::uint32_t n = buffer.lost;
  buffer.lost = 0;
  return n;
}

}  // namespace weft::inline v0::rt
