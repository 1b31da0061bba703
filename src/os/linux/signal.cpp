// signal.cpp — the signal that ends a slice, or asks for a stack: SIGURG, sent to one thread with a mark that
// says it is ours, and which. And SIGPIPE.
//
// SIGURG, as in Go: by default it is ignored, debuggers pass it on, and programs that use it (out-of-band
// data of a socket) must expect spurious ones. The handler runs on the alternate stack, since the interrupted
// stack may have no room, with every signal blocked that glibc lets us block: its own two must get through,
// or setuid() would wait for a thread that is parked in here.
#include <errno.h>
#include <signal.h>

#include "os/linux/syscall.hpp"
#include "os/os.hpp"

namespace weft::inline v0::rt::os {
namespace {

constinit const char cookies[2] = {};                // their addresses: this process's, this library's
void (*on_interrupt)(interrupt_for, const void*) noexcept = nullptr;   // set before the handler is installed
struct sigaction before;

bool is_ours(const siginfo_t* info, interrupt_for what) noexcept {
  return info->si_code == SI_QUEUE && info->si_value.sival_ptr == &cookies[static_cast<int>(what)];
}

void chain(int number, siginfo_t* info, void* context) noexcept {
  if (before.sa_flags & SA_SIGINFO) return before.sa_sigaction(number, info, context);
  if (before.sa_handler != SIG_DFL && before.sa_handler != SIG_IGN) before.sa_handler(number);
}

void on_signal(int number, siginfo_t* info, void* context) noexcept {
  const int kept = errno;
  if (is_ours(info, interrupt_for::slice))
    on_interrupt(interrupt_for::slice, context);
  else if (is_ours(info, interrupt_for::stack))
    on_interrupt(interrupt_for::stack, context);
  else
    chain(number, info, context);
  errno = kept;
}

}  // namespace

void install_interrupt(void (*f)(interrupt_for, const void*) noexcept) noexcept {
  on_interrupt = f;
  struct sigaction action {};
  action.sa_sigaction = on_signal;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESTART;
  sigfillset(&action.sa_mask);
  struct sigaction found;
  sigaction(SIGURG, &action, &found);
  if (!(found.sa_flags & SA_SIGINFO) || found.sa_sigaction != on_signal) before = found;
}

// A handler, and not SIG_IGN: a program that is executed has the default action again.
void outlive_broken_pipes() noexcept {
  struct sigaction found, action {};
  action.sa_handler = [](int) {};
  action.sa_flags = SA_ONSTACK | SA_RESTART;
  if (sigaction(SIGPIPE, nullptr, &found) == 0 && !(found.sa_flags & SA_SIGINFO) &&
      found.sa_handler == SIG_DFL)
    sigaction(SIGPIPE, &action, nullptr);
}

bool interrupt_thread(std::int32_t thread_id, interrupt_for what) noexcept {
  siginfo_t info{};
  info.si_signo = SIGURG;
  info.si_code = SI_QUEUE;
  info.si_pid = static_cast<pid_t>(system_call(SYS_getpid));
  info.si_value.sival_ptr = const_cast<char*>(&cookies[static_cast<int>(what)]);
  return system_call(SYS_rt_tgsigqueueinfo, info.si_pid, thread_id, SIGURG, &info) == 0;
}

}  // namespace weft::inline v0::rt::os
