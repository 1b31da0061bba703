// strays.cpp — Ms that were outside when their P was taken for good: blocked, or deaf to the signal. Or that
// gave it away before a blocking call.
//
// Such a thread runs on without a P when its call returns, until it next enters the runtime. That is legal
// and short, as a rule; but a goroutine that computes then, while others wait for a P, would make more
// threads busy than there are Ps. So sysmon keeps an eye on them: one whose CPU clock has moved, while no P
// is idle, or one is for want of a thread, is sent the signal, once in a stay outside, if it still runs. In
// the handler it enters the runtime, and waits for its turn.
#include <algorithm>

#include "os/os.hpp"
#include "sched/preempt.hpp"

namespace weft::inline v0::rt {
namespace {

constexpr std::size_t most_looks = 64;               // a round; the others have their turn in the next
constexpr std::int64_t pause = 1'000'000, short_pause = 50'000;   // between looks at those that run, ns
fifo<machine, &machine::next_stray> strays;          // sysmon only
atomic<machine*> reported{nullptr};                  // a stack; emptied as a whole

bool is_back(machine* mp) noexcept {
  // [order] acquire: pairs with lose()
  return mp->lease.look().state() != lease_state::taken || mp->lost.load(acquire);
}

// An idle P will do for who waits. But not while the thread that shall run it does not come: a stray may hold
// the lock that pthread_create waits for, and among many it would have a CPU only now and then.
bool may_go_on(std::int64_t now) noexcept {
  if (sched.idle.look().idle_processors() == 0) return false;
  locked hold(sched.lock);
  return !thread_is_late(now);
}

// When to look again.
std::int64_t look_at_stray(machine* mp, std::int64_t now) noexcept {
  stay_outside& stay = mp->stray;
  const std::uint64_t gate = mp->gate.look();
  if (gate != stay.gate) stay = {gate};              // it was just leaving when it was noted
  if (!gate_word::is_outside(gate) || stay.interrupted != 0) return os::forever;
  const std::int64_t used = os::thread_cpu_time(mp->thread_id);
  const bool moved = stay.cpu_time >= 0 && used != stay.cpu_time;
  stay.cpu_time = used;
  if (!moved) return os::forever;
  if (may_go_on(now)) return now + pause;
  // One that was woken, found the lock taken and sleeps again is left alone: in the handler it would be out
  // of the lock's queue, and spend its turn on getting back there.
  if (os::thread_is_running(mp->thread_id)) interrupt(mp, stay, now);
  return now + short_pause;
}

void take_reported() noexcept {
  if (reported.load(relaxed) == nullptr) return;     // [order] relaxed: seen a round later at worst
  machine* mp = reported.exchange(nullptr, acquire); // [order] acquire: pairs with report_stray()
  while (mp != nullptr) {
    machine* next = mp->next_reported;
    mp->is_reported.store(false, release);           // [order] release: the link has been read
    note_stray(mp, mp->gate.look());
    mp = next;
  }
}

}  // namespace

void note_stray(machine* mp, std::uint64_t gate) noexcept {
  mp->stray = {gate};
  if (mp->is_stray) return;
  mp->is_stray = true;
  strays.push_back(mp);
  sched.strays.store(strays.size(), relaxed);        // [order] relaxed: a heuristic
}

void report_stray(machine* mp) noexcept {
  // [order] acq_rel: its link is free again; release: pairs with take_reported()
  if (mp->is_reported.exchange(true, acq_rel)) return;
  machine* first = reported.load(relaxed);           // [order] relaxed: the CAS decides
  do mp->next_reported = first;
  while (!reported.compare_exchange_weak(first, mp, release, relaxed));
}

std::int64_t look_at_strays(std::int64_t now) noexcept {
  take_reported();
  std::int64_t next = os::forever;
  for (std::size_t n = strays.size() < most_looks ? strays.size() : most_looks; n > 0; --n) {
    machine* mp = strays.pop_front();
    mp->is_stray = !is_back(mp);
    if (!mp->is_stray) continue;
    if (may_interrupt()) next = std::min(next, look_at_stray(mp, now));
    strays.push_back(mp);
  }
  sched.strays.store(strays.size(), relaxed);        // [order] relaxed: a heuristic
  return next;
}

}  // namespace weft::inline v0::rt
