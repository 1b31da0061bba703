// fork.cpp — a thread of the process forks. The child may only exec, as in Go.
//
//   prepare   no thread is being made and none will be; the thread that forks is not stopped by our signal
//   (libc)    takes its locks, of malloc and of stdio; forks
//   parent    both are over
//   child     one thread, and the world of its parent is over for it: calls of Weft abort with one line,
//             destructors of its objects do nothing
//
// Prepare handlers run in the reverse order of registration and before libc takes its own locks. Ours comes
// with the first run(): before those of an allocator, after those of libraries that came later.
// I1  prepare holds no lock: it counts. A P is handed on meanwhile as ever, to threads that exist
// I2  neither a fork waits for a thread that is being made, nor the template thread for a fork, for longer
//     than `patience`; and not at all while threads are stopped by the signal. Either may need a lock that
//     one of those holds, and they a turn, and so the new thread. Half a thread in a child that only execs
//     does no harm
// I3  a thread that forks holds every lock of malloc, so it is not stopped for a turn of the others: when its
//     slice is over its P is claimed
#include "sched/fork.hpp"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

#include <algorithm>

#include "base/print.hpp"
#include "os/os.hpp"
#include "sched/sched.hpp"

namespace weft::inline v0::rt {
namespace {

constexpr std::int64_t patience = 100'000'000, one_look = 1'000'000;   // ns

atomic<std::uint32_t> forks{0};                      // between prepare and parent
atomic<std::uint32_t> creating{0};                   // the template thread makes a thread, or wants to
atomic<bool> in_child{false};

// Sleeps while the word is not zero. False: not for longer (I2).
bool wait_for_zero(const atomic<std::uint32_t>& word, std::int64_t deadline) noexcept {
  // [order] seq_cst: a fork and the template thread write their own word, then look at the other's
  for (std::uint32_t seen; (seen = word.load(seq_cst)) != 0;) {
    const std::int64_t now = os::nanotime();
    // [order] relaxed: a hint, looked at again
    if (now >= deadline || sched.threads_stopped.load(relaxed) != 0) return false;
    os::futex_wait(&word, seen, std::min(deadline, now + one_look));
  }
  return true;
}

void end_one(atomic<std::uint32_t>& word) noexcept {
  // [order] release: who sees zero sees what was done before
  if (word.fetch_sub(1, release) == 1) os::futex_wake(&word, INT32_MAX);
}

void prepare() noexcept {
  // [order] relaxed, here and below: for our own signal handler
  if (machine* mp = this_machine()) mp->in_fork.store(true, relaxed);
  const std::int64_t deadline = os::nanotime() + patience;
  for (;;) {
    const bool in_time = wait_for_zero(creating, deadline);
    forks.fetch_add(1, seq_cst);                     // [order] seq_cst: as in wait_for_zero()
    if (!in_time || creating.load(seq_cst) == 0) return;
    end_one(forks);                                  // the template thread goes first, or waited for us
  }
}

void parent() noexcept {
  end_one(forks);
  if (machine* mp = this_machine()) mp->in_fork.store(false, relaxed);   // [order] as in prepare()
}

// [order] relaxed, all of these: there is one thread
void child() noexcept {
  in_child.store(true, relaxed);
  forks.store(0, relaxed);
  creating.store(0, relaxed);
  sched.running.store(false, relaxed);               // nothing to show in a dump, nothing to stop
  set_this_machine(nullptr);                         // so every call comes to adopt_thread()
}

}  // namespace

void install_fork_handlers() noexcept {
  if (pthread_atfork(prepare, parent, child) != 0) fatal("out of memory for the handlers of fork");
}

// [order] relaxed: written before there was a second thread
bool in_forked_child() noexcept { return in_child.load(relaxed); }

void refuse_in_forked_child() noexcept {
  if (!in_forked_child()) return;
  printer() << "fatal error: weft: called in the child of a fork, which may only exec\n";
  abort();
}

void begin_creation() noexcept {
  creating.store(1, seq_cst);                        // [order] seq_cst: as in wait_for_zero()
  wait_for_zero(forks, os::nanotime() + patience);
}

void end_creation() noexcept { end_one(creating); }

}  // namespace weft::inline v0::rt
