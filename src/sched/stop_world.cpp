// stop_world.cpp — stop every P, do something, go on: set_maxprocs, dumps, trace switches.
//
//   stopping = true, attention on every P
//   idle Ps           taken from the idle list
//   Ms outside        their P is claimed, one membarrier for all; they go on in user code without noticing
//   Ms inside         see the attention at their next scheduling point and leave the P as `stopped`
//   ... f ...
//   stopping = false; each P goes back to the M it was claimed from, if that is still outside or has come in
//   and waits; to an M if it has work, to the idle list otherwise
//
// Only the helper thread stops the world, so two stops never wait for each other; who asked is parked.
// I1  while the world is stopped every P is `stopped` (or dead) and no goroutine runs inside
#include "os/os.hpp"
#include "sched/sched.hpp"

namespace weft::inline v0::rt {
namespace {

constexpr std::int64_t retry_ns = 100'000;           // Go's: ask again every 100 us

void take_idle_ps() noexcept {                       // under lock
  while (processor* pp = idle_get_p()) {
    pp->status.store(p_status::stopped, relaxed);    // [order] relaxed: under the lock
    --sched.stop_wait;
  }
}

void take_from_outside() noexcept {
  constexpr std::uint32_t most = 64;
  machine* ms[most];
  processor* won[most];
  std::uint32_t n = 0;
  const std::uint32_t count = sched.maxprocs.load(relaxed);   // [order] relaxed: only a stop changes it
  auto flush = [&] {
    if (claim_all(ms, n, won) != 0) {
      locked hold(sched.lock);
      for (std::uint32_t i = 0; i < n; ++i) {
        processor* pp = won[i];
        if (pp == nullptr) continue;
        pp->taken_from = ms[i];
        pp->mp.store(nullptr, relaxed);              // [order] relaxed: under the lock, and the P is ours
        pp->status.store(p_status::stopped, relaxed);
        --sched.stop_wait;
      }
    }
    n = 0;
  };
  for (std::uint32_t i = 0; i < count; ++i) {
    processor* pp = &sched.processors[i];
    machine* mp = pp->mp.load(relaxed);              // [order] relaxed: the lease decides
    if (mp == nullptr || pp->status.load(relaxed) != p_status::running) continue;
    mp->mark.store(1, relaxed);
    ms[n] = mp;
    if (++n == most) flush();
  }
  flush();
}

// False: the world has ended meanwhile, and nobody counts its Ps any more.
bool stop_world() noexcept {
  emit(event::world_stop_begin);
  {
    locked hold(sched.lock);
    // [order] release: of `stopping`, for looks without the lock; of the bits, pairs with attend()
    sched.stopping.store(true, release);
    sched.stop_wait = sched.maxprocs.load(relaxed);
    sched.stop_note.clear();
    for (std::uint32_t i = 0; i < sched.maxprocs.load(relaxed); ++i)
      sched.processors[i].attention.fetch_or(attend_stop, release);
    take_idle_ps();
  }
  for (;;) {
    take_from_outside();
    {
      locked hold(sched.lock);
      if (sched.stop_wait == 0) return true;
      if (sched.ended.load(acquire)) return false;   // [order] acquire: pairs with end_main()
    }
    sched.stop_note.sleep(os::nanotime() + retry_ns);
  }
}

// It has entered meanwhile and found no P, so its goroutine is queued: it goes on where it was. Under lock.
bool return_to_waiting(machine* mp, processor* pp) noexcept {
  // [order] acquire: pairs with end_main()
  if (sched.ended.load(acquire) || !mp->waits_for_p || !sched.global.remove_thread(mp)) return false;
  mp->waits_for_p = false;
  leave_next_p(mp, pp);
  mp->park_note.wake();
  return true;
}

void start_world() noexcept {
  processor* with_work = nullptr;
  {
    locked hold(sched.lock);
    sched.stopping.store(false, release);            // [order] release: what f did comes first
    const std::uint32_t n = sched.maxprocs.load(relaxed);
    for (std::uint32_t i = n; i-- > 0;) {
      processor* pp = &sched.processors[i];
      // [order] acq_rel, acquire: end_main() says `ended`, then sets the bit; we must not clear it for good
      pp->attention.fetch_and(~std::uint32_t{attend_stop}, acq_rel);
      if (sched.ended.load(acquire)) pp->attention.fetch_or(attend_stop, release);
      // [order] relaxed: under the lock. At an end only.
      if (pp->status.load(relaxed) != p_status::stopped) continue;
      machine* mp = pp->taken_from;
      pp->taken_from = nullptr;
      if (mp != nullptr) {
        // As acquire_p does, but for another thread. [order] relaxed: the lease's change is a release
        pp->mp.store(mp, relaxed);
        pp->status.store(p_status::running, relaxed);
        if (give_back_p(mp, pp)) continue;
        pp->mp.store(nullptr, relaxed);
        if (return_to_waiting(mp, pp)) continue;
      }
      if (pp->queue.empty()) {
        idle_put_p(pp);
      } else {
        pp->link = with_work;
        with_work = pp;
      }
    }
  }
  while (with_work != nullptr) {
    processor* pp = with_work;
    with_work = pp->link;
    start_m(pp, false);
  }
  wake_p();
  wake_sysmon();
  emit(event::world_stop_end);
}

}  // namespace

void stop_world_and_run(void (*f)(void*), void* arg) noexcept {
  if (!sched.running.load(acquire)) {                // [order] acquire: pairs with begin_world()
    f(arg);                                          // no world: nothing to stop
    return;
  }
  if (sched.ended.load(acquire)) return;             // who asked does not go on either. [order] end_main()
  if (stop_world()) f(arg);
  start_world();
}

// ---- for_each_p: the same reach without a stop ----

namespace {
void (*safe_point_function)(processor*) = nullptr;   // set before the attention bit, which is a release
atomic<std::uint32_t> safe_points_left{0};
}  // namespace

void run_safe_point(processor* pp) noexcept {
  // [order] acq_rel: pairs with for_each_p()'s setting of the bit, which comes after the function's
  if ((pp->attention.fetch_and(~std::uint32_t{attend_safe_point}, acq_rel) & attend_safe_point) == 0) return;
  safe_point_function(pp);
  safe_points_left.fetch_sub(1, acq_rel);            // [order] acq_rel: for_each_p() sees what f did
}

void for_each_p(void (*f)(processor*)) noexcept {
  // [order] relaxed: only a stop changes maxprocs, and the release of the bits publishes the rest;
  // acquire: pairs with run_safe_point() and end_main()
  const std::uint32_t n = sched.maxprocs.load(relaxed);
  safe_point_function = f;
  safe_points_left.store(n, relaxed);
  for (std::uint32_t i = 0; i < n; ++i) sched.processors[i].attention.fetch_or(attend_safe_point, release);
  while (safe_points_left.load(acquire) != 0 && !sched.ended.load(acquire)) {
    for (std::uint32_t i = 0; i < n; ++i) {
      processor* pp = &sched.processors[i];
      // [order] relaxed: hints; the lock, or the claim, decides
      if ((pp->attention.load(relaxed) & attend_safe_point) == 0) continue;
      {
        locked hold(sched.lock);                     // an idle P stays idle while we hold the lock
        if (pp->status.load(relaxed) == p_status::idle && pp->mp.load(relaxed) == nullptr) {
          run_safe_point(pp);
          continue;
        }
      }
      machine* mp = pp->mp.load(relaxed);            // [order] relaxed: the lease decides
      if (mp == nullptr) continue;
      mp->mark.store(1, relaxed);
      if ((pp = claim_p(mp)) == nullptr) continue;
      run_safe_point(pp);
      pp->mp.store(mp, relaxed);                     // [order] relaxed: the lease's change is a release
      if (!give_back_p(mp, pp)) {                    // it has gone on without: the P is ours to place
        pp->mp.store(nullptr, relaxed);
        hand_off_p(pp);
      }
    }
    os::sleep_ns(retry_ns);
  }
}

// ---- how many Ps ----

void resize_processors(std::uint32_t n) noexcept {
  // [order] relaxed: the world stands. release, of the numbers: so many have been built
  const std::uint32_t old = sched.maxprocs.load(relaxed);
  for (std::uint32_t i = n; i < old; ++i) {          // Go's p.destroy: its work to the global queue's head
    processor* pp = &sched.processors[i];
    goroutine* all[run_queue::most];
    const std::uint32_t count = pp->queue.drain(all);
    {
      locked hold(sched.lock);
      sched.global.push_front(all, count);
    }
    sched.processors[0].timers.absorb(pp->timers);
    drain_goroutines(pp);
    pp->stacks.drain();
    pp->taken_from = nullptr;                        // its M finds the lease taken and waits for another P
    pp->attention.store(0, relaxed);                 // [order] relaxed: the world stands
    pp->status.store(p_status::dead, relaxed);
  }
  if (n > old) {
    // [order] as above
    init_processors(n);
    for (std::uint32_t i = old; i < n; ++i) sched.processors[i].status.store(p_status::stopped, relaxed);
    if (n > sched.highest_maxprocs.load(relaxed)) sched.highest_maxprocs.store(n, release);
  }
  sched.maxprocs.store(n, release);
  emit(event::maxprocs, n);
}

void init_processors(std::uint32_t n) noexcept {
  constexpr std::size_t room = sizeof(processor) * most_processors;
  if (sched.processors == nullptr) {
    sched.processors = static_cast<processor*>(os::reserve(room));
    if (sched.processors == nullptr) fatal("out of address space for processors");
  }
  static std::uint32_t made = 0;                     // constructed once, reused for ever
  if (n <= made) return;
  auto* first = reinterpret_cast<std::byte*>(&sched.processors[made]);
  auto* end = reinterpret_cast<std::byte*>(&sched.processors[n]);
  const std::size_t page = os::page_size();
  auto* from = reinterpret_cast<std::byte*>(reinterpret_cast<std::uintptr_t>(first) & ~(page - 1));
  if (!os::commit(from, (static_cast<std::size_t>(end - from) + page - 1) & ~(page - 1)))
    fatal("out of memory for processors");
  for (; made < n; ++made) ::new (&sched.processors[made]) processor{}, sched.processors[made].id = made;
}

}  // namespace weft::inline v0::rt
