// overflow_report.cpp — Go's text for it, on the alternate signal stack.
//
//   SIGSEGV --> guard of a goroutine's stack (stack floor) --> report_goroutine
//           --> otherwise: just below a thread stack that the runtime runs on --> the same report for g0
//           --> otherwise: the handler that was there before, or the dump of a crash (crash.hpp)
#include "observe/overflow_report.hpp"

#include <signal.h>

#include "base/check.hpp"
#include "base/print.hpp"
#include "observe/crash.hpp"
#include "os/linux/fault.hpp"
#include "os/linux/maps.hpp"
#include "os/linux/syscall.hpp"
#include "sched/sched.hpp"

namespace weft::inline v0::rt {
namespace {

constexpr std::uintptr_t reach = 64 * 1024;   // how far below a stack an overflow is recognised

[[noreturn]] void report_and_die(const char* whose, std::uintptr_t bottom, std::uintptr_t top,
                                 const char* fatal_text, const void* context) noexcept {
  begin_fatal();
  printer() << "runtime: " << whose << " stack exceeds " << top - bottom << "-byte limit\n"
            << "runtime: sp=" << reinterpret_cast<const void*>(os::interrupted_sp(context)) << " stack=["
            << reinterpret_cast<const void*>(bottom) << ", " << reinterpret_cast<const void*>(top) << "]\n"
            << "fatal error: " << fatal_text << '\n';
  finish_fatal(2, context);
}

void report_goroutine(const stack& which, const void*, const void* context) noexcept {
  report_and_die("goroutine", reinterpret_cast<std::uintptr_t>(which.bottom),
                 reinterpret_cast<std::uintptr_t>(which.top), "stack overflow", context);
}

// ---- threads ----

struct nearest {       // the lowest writable mapping that ends above the address
  std::uintptr_t address;
  std::uintptr_t start = 0, end = 0;
};

bool is_just_below_stack(std::uintptr_t address, std::uintptr_t sp, nearest& found) noexcept {
  std::uintptr_t distance = sp > address ? sp - address : address - sp;
  if (distance > reach) return false;
  found.address = address;
  auto see = [](const os::mapping& m, void* p) noexcept {
    auto& n = *static_cast<nearest*>(p);
    if (m.end <= n.address || !m.writable) return true;
    n.start = m.start;
    n.end = m.end;
    return false;
  };
  os::for_each_mapping(see, &found);
  return found.start > address && found.start - address <= reach;
}

struct sigaction handlers_before[2];   // SIGSEGV, SIGBUS

// A fault comes again when the instruction runs again, and meets the default; not so a signal that somebody
// sent, which can also be ignored.
void pass_on(int signal, siginfo_t* info, void* context) noexcept {
  const struct sigaction& next = handlers_before[signal == SIGSEGV ? 0 : 1];
  if (next.sa_flags & SA_SIGINFO) return next.sa_sigaction(signal, info, context);
  if (next.sa_handler != SIG_DFL && next.sa_handler != SIG_IGN) return next.sa_handler(signal);
  const bool was_sent = info->si_code <= 0;
  if (was_sent && next.sa_handler == SIG_IGN) return;
  die_of_signal(signal, info, context);
  struct sigaction action {};
  action.sa_handler = SIG_DFL;
  sigaction(signal, &action, nullptr);
  if (was_sent) os::system_call(SYS_tgkill, os::system_call(SYS_getpid), os::thread_id(), signal);
}

void on_fault(int signal, siginfo_t* info, void* context) {
  machine* mp = this_machine();
  bool is_ours = mp && (mp->is_service || (!mp->is_foreign && mp->current == nullptr));
  nearest at{};
  if (is_ours &&
      is_just_below_stack(reinterpret_cast<std::uintptr_t>(info->si_addr), os::interrupted_sp(context), at))
    report_and_die("g0", at.start, at.end, "stack overflow on g0", context);
  pass_on(signal, info, context);
}

}  // namespace

void install_overflow_reports() noexcept {
  struct sigaction action {};
  sigfillset(&action.sa_mask);
  action.sa_flags = SA_ONSTACK | SA_SIGINFO;
  action.sa_sigaction = on_fault;
  sigaction(SIGSEGV, &action, &handlers_before[0]);
  sigaction(SIGBUS, &action, &handlers_before[1]);
  install_overflow_handler(report_goroutine);   // in front of it
}

}  // namespace weft::inline v0::rt
