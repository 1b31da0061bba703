// crash.cpp — see crash.hpp.
#include "observe/crash.hpp"

#include "base/check.hpp"
#include "base/print.hpp"
#include "os/linux/fault.hpp"
#include "sched/fork.hpp"
#include "sched/sched.hpp"

// libc's sigaction() by the name that ThreadSanitizer does not intercept: it would hold the signal back until
// the thread calls a blocking function of libc, and ours sleep in system calls of their own.
extern "C" int __sigaction(int, const struct sigaction*, struct sigaction*);

namespace weft::inline v0::rt {
namespace {

const char* text_of(int signal) noexcept {
  switch (signal) {
    case SIGSEGV: return "SIGSEGV: segmentation violation";
    case SIGBUS: return "SIGBUS: bus error";
    case SIGABRT: return "SIGABRT: abort";
    case SIGILL: return "SIGILL: illegal instruction";
    case SIGFPE: return "SIGFPE: floating-point exception";
    default: return "SIGQUIT: quit";
  }
}

void tell(int signal, const siginfo_t* info, const void* context) noexcept {
  const machine* mp = this_machine();
  printer out;
  out << text_of(signal) << "\nPC=" << reinterpret_cast<const void*>(os::interrupted_pc(context)) << " m=";
  if (mp) out << mp->id;
  else out << "nil";
  out << " sigcode=" << info->si_code;
  if ((signal == SIGSEGV || signal == SIGBUS) && info->si_code > 0) out << " addr=" << info->si_addr;
  out << '\n';
}

void end_by_default(int signal) noexcept {
  struct sigaction action {};
  action.sa_handler = SIG_DFL;
  __sigaction(signal, &action, nullptr);
}

void on_quit(int signal, siginfo_t* info, void* context) {
  begin_fatal();
  tell(signal, info, context);
  finish_fatal(2, context);
}

// Sent, by abort() or by somebody else, or the instruction's own: raised again it meets the default.
void on_crash(int signal, siginfo_t* info, void* context) {
  die_of_signal(signal, info, context);
  end_by_default(signal);
  raise(signal);
}

void install(int signal, void (*handler)(int, siginfo_t*, void*)) noexcept {
  struct sigaction before {};
  if (sigaction(signal, nullptr, &before) != 0 || before.sa_handler != SIG_DFL) return;
  struct sigaction action {};
  sigfillset(&action.sa_mask);
  action.sa_flags = SA_ONSTACK | SA_SIGINFO | SA_RESTART;
  action.sa_sigaction = handler;
  __sigaction(signal, &action, nullptr);
}

}  // namespace

void die_of_signal(int signal, const siginfo_t* info, const void* context) noexcept {
  // [order] relaxed: between two worlds there is nothing to show. After the dump the user's terminate handler
  // may abort.
  if (!sched.running.load(relaxed) || in_forked_child() || is_dying_here()) return;
  begin_fatal();
  tell(signal, info, context);
  finish_fatal_by_signal(signal, context);
}

void install_crash_handlers() noexcept {
  for (int signal : {SIGABRT, SIGILL, SIGFPE}) install(signal, on_crash);
  install(SIGQUIT, on_quit);
}

}  // namespace weft::inline v0::rt
