// check.cpp — dying: one thread tells why and dumps, the others stand still, the end comes whatever happens.
//
//   living --begin_fatal()--> telling --finish_fatal()--> dumping --> exit status (or a core)
//
// I1  one thread owns the death (`owner`, a thread id); all others sleep in begin_fatal() until the process
//     is gone
// I2  from `dumping` on, the end no longer depends on the dump: the owner's faults (SIGSEGV, SIGBUS, SIGILL,
//     SIGFPE), a second fatal error in the owner, and a timer of 10 s all lead to the same end_process()
// I3  a fault of another thread during the dump puts that thread to sleep: it must not cut the dump short
//
// The guard is a set of signal handlers, installed when the dump begins, over whatever the user had, and a
// kernel timer that signals the owner. Rejected: a watchdog thread or process (creating one takes locks and
// memory that a dying process may not have).
#include "base/check.hpp"

#include <signal.h>
#include <sys/time.h>
#include <time.h>

#include "base/atomic.hpp"
#include "base/print.hpp"
#include "os/linux/syscall.hpp"
#include "os/os.hpp"

namespace weft::inline v0::rt {
namespace {

constexpr int faults[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE};

atomic<dump_port> dump{nullptr};
atomic<bool> crash_on_fatal{false};
atomic<std::int32_t> owner{0};   // thread id of the one that dies for all
atomic<bool> dumping{false};
atomic<int> exit_status{2};
atomic<int> exit_signal{0};      // instead, if not 0
atomic<std::int64_t> dump_limit{10'000'000'000};
atomic<std::int64_t> dump_deadline{os::forever};

[[noreturn]] void sleep_for_ever() noexcept {
  for (;;) os::sleep_ns(os::forever);
}

[[noreturn]] void end_process() noexcept {
  // [order] relaxed: written by the owner itself; a setting from the start of the process
  int number = exit_signal.load(relaxed);
  if (number == 0 && crash_on_fatal.load(relaxed)) number = SIGABRT;
  if (number != 0) {
    signal(number, SIG_DFL);
    sigset_t only;
    sigemptyset(&only);
    sigaddset(&only, number);
    pthread_sigmask(SIG_UNBLOCK, &only, nullptr);
    os::system_call(SYS_tgkill, os::system_call(SYS_getpid), os::thread_id(), number);
  }
  os::exit_process(exit_status.load(relaxed));   // [order] relaxed: written by the owner itself
}

void on_fault(int) noexcept {
  // [order] relaxed: looks for what this very thread wrote; any other value means "not us".
  if (os::thread_id() != owner.load(relaxed)) sleep_for_ever();
  end_process();
}

void on_alarm(int) noexcept {   // perhaps an alarm of the user's own: only the clock decides
  // [order] relaxed: the timer signals the thread that wrote the deadline.
  if (os::nanotime() >= dump_deadline.load(relaxed)) end_process();
}

void arm_timer(std::int64_t limit) noexcept {
  limit += 1'000'000;   // not before the deadline that on_alarm() looks at
  long seconds = limit / 1'000'000'000, ns = limit % 1'000'000'000;
  sigevent to_owner{};
  to_owner.sigev_notify = SIGEV_THREAD_ID;
  to_owner.sigev_signo = SIGALRM;
  to_owner._sigev_un._tid = os::thread_id();
  int timer = 0;
  // Once more a second later and so on: a signal lost in a race with the user's sigaction is not the last.
  itimerspec when{{1, 0}, {seconds, ns}};
  if (os::system_call(SYS_timer_create, CLOCK_MONOTONIC, &to_owner, &timer) == 0) {
    os::system_call(SYS_timer_settime, timer, 0, &when, nullptr);
  } else {   // no timers left: the one that every process has
    itimerval alarm{{1, 0}, {seconds, ns / 1000}};
    os::system_call(SYS_setitimer, ITIMER_REAL, &alarm, nullptr);
  }
}

void guard_the_dump() noexcept {
  // [order] relaxed: a setting from the start; and a word for our own handler only.
  std::int64_t limit = dump_limit.load(relaxed);
  dump_deadline.store(os::nanotime() + limit, relaxed);
  sigset_t mine;
  sigemptyset(&mine);
  struct sigaction action {};
  sigfillset(&action.sa_mask);
  action.sa_flags = SA_ONSTACK | SA_RESTART;
  action.sa_handler = on_fault;
  for (int fault : faults) {
    sigaction(fault, &action, nullptr);
    sigaddset(&mine, fault);
  }
  action.sa_handler = on_alarm;
  sigaction(SIGALRM, &action, nullptr);
  sigaddset(&mine, SIGALRM);
  pthread_sigmask(SIG_UNBLOCK, &mine, nullptr);   // perhaps we are inside a handler for one of them
  arm_timer(limit);
}

}  // namespace

void set_dump_port(dump_port port) noexcept {
  dump.store(port, release);   // [order] pairs with finish_fatal(): what the port uses is ready
}

// [order] relaxed: settings from the start of the process, single words.
void set_dump_limit(std::int64_t ns) noexcept { dump_limit.store(ns, relaxed); }

void set_crash_on_fatal(bool crash) noexcept { crash_on_fatal.store(crash, relaxed); }

void begin_fatal() noexcept {
  std::int32_t self = os::thread_id(), nobody = 0;
  // [order] acq_rel is not needed: the winner decides alone, nothing is handed over.
  if (owner.compare_exchange_strong(nobody, self, relaxed)) return;
  if (nobody != self) sleep_for_ever();
  if (dumping.load(relaxed)) end_process();   // the dump itself failed
}

void finish_fatal(int status, const void* fault_context) noexcept {
  begin_fatal();   // for callers that have printed nothing; otherwise no effect
  // [order] relaxed: the owner alone writes and reads them.
  exit_status.store(status, relaxed);
  dumping.store(true, relaxed);
  guard_the_dump();
  if (dump_port port = dump.load(acquire)) port(fault_context);   // [order] pairs with set_dump_port()
  end_process();
}

void finish_fatal_by_signal(int signal, const void* fault_context) noexcept {
  begin_fatal();
  exit_signal.store(signal, relaxed);                // [order] relaxed: as in finish_fatal()
  finish_fatal(2, fault_context);
}

bool is_dying_here() noexcept {
  // [order] relaxed: what this very thread wrote
  return owner.load(relaxed) == os::thread_id() && dumping.load(relaxed);
}

void fatal(const char* text) noexcept {
  begin_fatal();
  printer() << "fatal error: " << text << '\n';
  finish_fatal(2);
}

void check_failed(const char* expression, const char* file, int line) noexcept {
  begin_fatal();
  printer() << "fatal error: check failed: " << expression << " (" << file << ':' << line << ")\n";
  finish_fatal(2);
}

}  // namespace weft::inline v0::rt
