// lock_rank.cpp — the checker: what a thread holds, and whether the next lock fits.
#include "base/lock_rank.hpp"

#include "base/atomic.hpp"
#include "base/check.hpp"
#include "base/print.hpp"

namespace weft::inline v0::rt {
namespace {

atomic<held_locks_port> installed_port{nullptr};

const char* rank_name(lock_rank rank) noexcept {
  switch (rank) {
    case lock_rank::channel: return "channel";
    case lock_rank::wait_list: return "wait_list";
    case lock_rank::timers: return "timers";
    case lock_rank::scheduler: return "scheduler";
    case lock_rank::slab: return "slab";
    case lock_rank::leaf: return "leaf";
  }
  return "?";
}

[[noreturn]] void complain(const held_locks& mine, lock_rank rank) noexcept {
  begin_fatal();
  {
    printer out;
    out << "fatal error: lock order: taking " << rank_name(rank) << " while holding";
    for (int i = 0; i < mine.count; ++i) out << ' ' << rank_name(mine.held[i].rank);
    out << '\n';
  }
  finish_fatal(2);
}

[[maybe_unused]] held_locks* of_this_thread() noexcept {
  held_locks_port port = installed_port.load(acquire);   // [order] pairs with set_held_locks_port()
  return port ? port() : nullptr;
}

}  // namespace

void set_held_locks_port(held_locks_port port) noexcept {
  installed_port.store(port, release);   // [order] pairs with of_this_thread(): what the port uses is ready
}

void check_acquired(held_locks& mine, lock_rank rank, const void* lock) noexcept {
  // The list is in order of rank, so its last entry is the highest.
  if (mine.count > 0) {
    const held_locks::entry& last = mine.held[mine.count - 1];
    bool next_of_select = rank == lock_rank::channel && last.rank == rank && last.lock < lock;
    if (last.rank >= rank && !next_of_select) complain(mine, rank);
  }
  // A select may hold more channels than there is room for: forget one in the middle, the last one decides.
  if (mine.count == held_locks::capacity) --mine.count;
  mine.held[mine.count++] = {lock, rank};
}

void check_released(held_locks& mine, lock_rank, const void* lock) noexcept {
  for (int i = mine.count - 1; i >= 0; --i) {
    if (mine.held[i].lock != lock) continue;
    for (--mine.count; i < mine.count; ++i) mine.held[i] = mine.held[i + 1];
    return;
  }
  // Not there: one that found no room (above), one from try_lock(), or from before the checks began.
}

#ifdef WEFT_DEBUG_CHECKS
void rank_acquired(lock_rank rank, const void* lock) noexcept {
  if (held_locks* mine = of_this_thread()) check_acquired(*mine, rank, lock);
}
void rank_released(lock_rank rank, const void* lock) noexcept {
  if (held_locks* mine = of_this_thread()) check_released(*mine, rank, lock);
}
#endif

}  // namespace weft::inline v0::rt
