// lock_thread.cpp — a goroutine bound to its thread (Go's LockOSThread), and the two hand-overs this costs.
//
//   a locked G parks      its M gives the P away and sleeps              stop_locked_m
//   it becomes runnable   it goes through the normal queues; the M that picks it
//                         gives its P to the locked M and sleeps          start_locked_m
//   it ends locked        the thread is not used again (its state may be changed): it ends
//
// Both hand-overs are answered within a microsecond, where a locked and another goroutine speak with each
// other. A futex costs each side several. So whoever has given a P away looks for a short while whether it
// comes back, before it sleeps; as long as that pays (wait_awhile_for_p).
#include "os/linux/pause.hpp"
#include "os/os.hpp"
#include "sched/fork.hpp"
#include "sched/sched.hpp"
#include "weft/this_goroutine.hpp"

namespace weft::inline v0::rt {
namespace {

// As long as a sleep and a wake may take. Shorter, and one slow wake puts both sides to sleep for ever after:
// whoever is woken has been waited for in vain.
constexpr std::int64_t longest_wait = 50'000;        // ns
constexpr int pauses = 4;                            // between two looks at the clock
constexpr std::uint32_t futile_max = 10;             // futile waits in a row; the next 2^n are not made

// mp stands where a giver finds it.
bool comes_back(const machine* mp) noexcept {
  const std::int64_t until = os::nanotime() + longest_wait;
  do {
    // [order] relaxed: take_next_p() looks again
    if (mp->next_pp.load(relaxed) != nullptr) return true;
    os::cpu_pause(pauses);
  } while (os::nanotime() < until);
  return false;
}

}  // namespace

void wait_awhile_for_p(machine* mp) noexcept {
  if (!os::several_cpus()) return;
  if (mp->waits_skipped + 1 < (1u << mp->futile_waits)) {
    ++mp->waits_skipped;
    return;
  }
  mp->waits_skipped = 0;
  if (comes_back(mp))
    mp->futile_waits = 0;
  else if (mp->futile_waits < futile_max)
    ++mp->futile_waits;
}

void start_locked_m(machine* mp, goroutine* gp) noexcept {
  machine* owner = gp->bound;
  {
    // Under the lock, since at the end of the world the owner may have stopped waiting, and lie in the idle
    // list. [order] relaxed: of an M that waits it is written under the lock
    locked hold(sched.lock);
    const bool waits = !owner->lost.load(relaxed) && (owner->waits_for_p || owner->locked_gp == gp);
    owner->waits_for_p = false;
    if (waits) {
      leave_next_p(owner, release_p(mp));
      begin_settling(mp);                            // the P may be here again before we lie in the idle list
    }
  }
  if (mp->pp != nullptr) return;
  owner->park_note.wake();   // without the lock: the kernel may run it at once, and us much later
  stop_m(mp, true);
}

void stop_locked_m(machine* mp) noexcept {
  if (mp->pp != nullptr) {
    // Its goroutine may be runnable already and lie in this very P's queue: hand_off_p sees that.
    if (mp->picked != nullptr) {
      put_local(mp->pp, mp->picked);
      mp->picked = nullptr;
    }
    stop_spinning(mp);
    hand_off_p(release_p(mp));
  }
  {
    locked hold(sched.lock);
    ++sched.locked_idle;
    check_dead();
  }
  wait_awhile_for_p(mp);
  processor* pp;
  do mp->park_note.sleep();
  // [order] acquire: pairs with end_main()
  while ((pp = take_next_p(mp)) == nullptr && !sched.ended.load(acquire));
  {
    locked hold(sched.lock);
    --sched.locked_idle;
    if (pp == nullptr) pp = take_next_p(mp);
    if (pp == nullptr) mp->locked_gp = nullptr;      // the world has ended: the goroutine never runs again
  }
  if (pp != nullptr) acquire_p(mp, pp);
}

void end_locked(machine* mp, goroutine* gp) noexcept {
  gp->bound = nullptr;
  gp->lock_depth = 0;
  sanitizer::hb_release(mp);
  mp->thread_ends = true;                            // schedule() retires it once it stands on g0
}

void lock_thread(machine* mp) noexcept {
  goroutine* gp = mp->current;
  if (gp->is_thread) return;
  WEFT_CHECK(gp->lock_depth != UINT32_MAX);
  ++gp->lock_depth;
  gp->bound = mp;
  mp->locked_gp = gp;
}

}  // namespace weft::inline v0::rt

namespace weft::inline v0 {

thread_lock::thread_lock() {
  rt::inside in;
  rt::lock_thread(in.get());
}

thread_lock::~thread_lock() {
  if (rt::in_forked_child()) return;
  rt::inside in;
  rt::goroutine* gp = in->current;
  if (gp->is_thread || --gp->lock_depth != 0) return;
  gp->bound = nullptr;
  in->locked_gp = nullptr;
}

}  // namespace weft::inline v0
