// deadlock.cpp — all goroutines are asleep and nothing can wake them.
//
// Looked at when an M goes idle (under sched.lock), when one's thread ends, when a foreign thread parks, and
// once more when all has been quiet for long (sysmon): a foreign thread may have ended, or one of ours have
// taken its time to.
// It is a deadlock when
//   no M runs or is about to come, no goroutine is queued, no timer may fire, the helper thread has nothing
//   to do, no goroutine waits for the kernel, and
//   no thread that the runtime did not start could still send: each is one of ours, or parked in Weft.
#include "base/print.hpp"
#include "os/os.hpp"
#include "sched/sched.hpp"
#include "sched/threads.hpp"
#include "sched/timers.hpp"

namespace weft::inline v0::rt {
namespace {

struct census {
  std::size_t alive = 0, busy = 0;
};

void count(goroutine* gp, void* arg) noexcept {
  auto* c = static_cast<census*>(arg);
  if (gp->is_thread) return;
  switch (gp->status.load(relaxed)) {   // [order] relaxed: who wrote it has gone idle under the lock since
    case g_status::runnable:
    case g_status::running: ++c->busy; [[fallthrough]];
    case g_status::waiting: ++c->alive; break;
    default: break;
  }
}

// ---- threads that are on their way out: no Ms any more, but tasks of the process ----

constexpr std::int64_t longest_exit = 100'000'000;   // ns. Afterwards the id may be another thread's

constexpr std::size_t most_leaving = 64;

struct {                                             // the last ones; under lock
  std::int32_t ids[most_leaving] = {};
  std::int64_t since[most_leaving] = {};
  std::size_t next = 0;
} on_the_way_out;

template <class F>
int count_on_the_way_out(F&& counts) noexcept {
  const std::int64_t now = os::nanotime();
  int n = 0;
  for (std::size_t i = 0; i < most_leaving; ++i)
    n += now - on_the_way_out.since[i] < longest_exit && counts(on_the_way_out.ids[i]);
  return n;
}

bool too_many_tasks() noexcept {
  const int tasks = os::count_threads();
  // After the tasks: who is gone by now has been counted among them, and is taken for a foreign thread; the
  // other way round a foreign thread would be taken for one of ours.
  const int leaving = count_on_the_way_out(os::thread_exists);
  const std::uint32_t parked = sched.threads_parked.load(acquire);   // [order] pairs with park_thread()
  const auto ours = static_cast<int>(sched.machine_count + service_threads() + parked + 1);   // + 1: run()
  return tasks < 0 || tasks - (sanitizer::thread ? 1 : 0) > ours + leaving;
}

// TSan has a thread of its own, but ends it for as long as somebody forks: then one of the program's would be
// taken for it. So there it is asked again for a while.
bool foreign_thread_awake() noexcept {
  constexpr int looks = sanitizer::thread ? 20 : 1, tries = 4;
  constexpr std::int64_t pause = 10'000'000;
  for (int i = 0; i < looks; ++i) {
    if (i > 0) os::sleep_ns(pause);
    bool awake = too_many_tasks();
    // One of ours may have gone between the two counts.
    for (int k = 1; awake && k < tries && count_on_the_way_out([](std::int32_t) { return true; }) != 0; ++k)
      awake = too_many_tasks();
    if (awake) return true;
  }
  return false;
}

// What changes without sched.lock.
bool something_may_come() noexcept {
  // [order] relaxed: a poller goes by the lock; the others are acquire, or under locks of their own
  return helper_is_busy() || poller.has_waiters() || sched.polling.load(relaxed) || live_timers() != 0;
}

}  // namespace

void check_dead() noexcept {
  // [order] relaxed, all of these: written under the lock, or by an M that is awake or went idle under it.
  if (!sched.running.load(relaxed) || sched.ended.load(relaxed) || sched.stopping.load(relaxed)) return;
  // The cheapest question first. A P that is not idle has an M, or is on its way to one that will come here.
  if (sched.idle.look().idle_processors() != sched.maxprocs.load(relaxed)) return;
  const std::uint32_t asleep = static_cast<std::uint32_t>(sched.idle_ms.size()) + sched.locked_idle;
  if (sched.machine_count > asleep || sched.threads_coming != 0) return;
  if (sched.global.size() != 0 || something_may_come()) return;
  for (std::uint32_t i = 0; i < sched.maxprocs.load(relaxed); ++i)
    if (!sched.processors[i].queue.empty()) return;
  if (sched.without_stack.load(relaxed) != 0) {
    begin_fatal();
    const stack_counts s = stack_statistics();
    printer() << "fatal error: out of goroutine stacks (" << std::uint64_t{s.in_use} << " in use, "
              << std::uint64_t{s.reserved} << " reserved)\n";
    finish_fatal(2);
  }
  // Once more: a thread may have armed a timer, or asked the helper, and gone to sleep since the first look.
  if (foreign_thread_awake() || something_may_come()) return;
  census c;
  for_each_goroutine(count, &c);
  if (c.busy != 0) return;   // about to be queued by somebody whom we do not see: not asleep
  if (c.alive == 0) fatal("no goroutines (main called runtime.Goexit) - deadlock!");
  fatal("all goroutines are asleep - deadlock!");
}

void note_thread_end(std::int32_t thread_id) noexcept {
  const std::size_t i = on_the_way_out.next++ % most_leaving;
  on_the_way_out.ids[i] = thread_id;
  on_the_way_out.since[i] = os::nanotime();
}

void look_for_deadlock() noexcept {
  locked hold(sched.lock);
  check_dead();
}

}  // namespace weft::inline v0::rt
