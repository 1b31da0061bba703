// naming.cpp — starts weft-symbolizer and waits for it. System calls only, but for clone(), which is one with
// a stack: fork would run handlers and copy the page tables of a million stacks.
#include "observe/naming.hpp"

#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/print.hpp"
#include "os/linux/syscall.hpp"
#include "os/os.hpp"

// libc's clone() by the name that ThreadSanitizer does not intercept: it would take the child for a fork with
// memory of its own, and switch itself off in the parent.
extern "C" int __clone(int (*)(void*), void* stack, int flags, void* arg, ...);

namespace weft::inline v0::rt {
namespace {

char program[PATH_MAX];   // empty: none. Written once, before anything can be dumped

bool use(const char* path) noexcept {
  if (!path || strlen(path) >= sizeof program || access(path, X_OK) != 0) return false;
  strcpy(program, path);
  return true;
}

bool use_beside_executable(const char* relative) noexcept {
  char path[PATH_MAX];
  ssize_t n = readlink("/proc/self/exe", path, sizeof path - 1);
  if (n <= 0) return false;
  path[n] = 0;
  char* slash = strrchr(path, '/');
  std::size_t room = sizeof path - static_cast<std::size_t>(slash + 1 - path);
  return static_cast<std::size_t>(snprintf(slash + 1, room, "%s", relative)) < room && use(path);
}

// ---- the child: shares the parent's memory; the parent stands still until it is another program ----
struct plan {
  int in, out;
  bool all;
};

// The parent's handlers would run here, in its memory, for a signal to the whole process group (from
// `timeout`, or a terminal). One that ends a process would find that somebody does so already, and let him
// finish: the parent, which stands still until we are another program.
void drop_handlers() noexcept {
  struct action {                                    // the kernel's
    void (*handler)(int);
    unsigned long flags;
    void (*restorer)();
    std::uint64_t mask;
  };
  for (int number = 1; number < NSIG; ++number) {
    action now{};
    if (os::system_call(SYS_rt_sigaction, number, nullptr, &now, sizeof now.mask) != 0) continue;
    if (now.handler == SIG_DFL || now.handler == SIG_IGN) continue;
    now = {SIG_DFL, 0, nullptr, 0};
    os::system_call(SYS_rt_sigaction, number, &now, nullptr, sizeof now.mask);
  }
}

int become_symbolizer(void* p) noexcept {
  const plan& what = *static_cast<plan*>(p);
  int out = static_cast<int>(os::system_call(SYS_fcntl, what.out, F_DUPFD, 3));   // `out` may be 0
  int in = static_cast<int>(os::system_call(SYS_fcntl, what.in, F_DUPFD, 3));
  os::system_call(SYS_dup3, in, 0, 0);
  os::system_call(SYS_dup3, out, 1, 0);
  os::system_call(SYS_close_range, 3, ~0u, 0);
  drop_handlers();
  sigset_t none;
  sigemptyset(&none);
  os::system_call(SYS_rt_sigprocmask, SIG_SETMASK, &none, nullptr, 8);
  const char* arguments[] = {program, what.all ? "--all" : nullptr, nullptr};
  const char* environment[] = {nullptr};
  os::system_call(SYS_execve, program, arguments, environment);
  os::exit_process(127);
}

long start(plan& what) noexcept {
  alignas(16) static char stack[32 * 1024];   // in use until the exec, while this thread stands still
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);   // a handler must not run in the child
  // No signal at its end: SIGCHLD is the user's.
  int child = __clone(become_symbolizer, stack + sizeof stack, CLONE_VM | CLONE_VFORK, &what);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return child;
}

// The exit status, or -1 after `limit_ns`: then it is killed.
int wait_for(long child, std::int64_t limit_ns) noexcept {
  std::int64_t deadline = os::nanotime() + limit_ns;
  for (;;) {
    int status = 0;
    long done = os::system_call(SYS_wait4, child, &status, WNOHANG | __WALL, nullptr);
    if (done == child) return WIFEXITED(status) ? WEXITSTATUS(status) : 128;
    if (done < 0) return 128;
    if (os::nanotime() > deadline) break;
    os::sleep_ns(1'000'000);
  }
  os::system_call(SYS_kill, child, SIGKILL);
  os::system_call(SYS_wait4, child, nullptr, __WALL, nullptr);
  return -1;
}

}  // namespace

void find_symbolizer() noexcept {
  const char* wish = secure_getenv("WEFT_SYMBOLIZE");
  if (wish && *wish) {
    if (strcmp(wish, "off") != 0 && !use(wish))
      printer() << "weft: WEFT_SYMBOLIZE=" << wish
                << ": not a program; allowed are `off` and the path of one\n";
    return;
  }
  (void)(use(WEFT_SYMBOLIZER_BUILD_PATH) || use(WEFT_SYMBOLIZER_INSTALL_PATH) ||
         use_beside_executable("weft-symbolizer") ||
         use_beside_executable("../libexec/weft/weft-symbolizer"));
}

naming::naming() noexcept
    : fd_(program[0]
              ? static_cast<int>(os::system_call(SYS_memfd_create, "weft-dump", 1u /* close on exec */))
              : -1) {}

naming::~naming() {
  if (fd_ >= 0) os::system_call(SYS_close, fd_);
}

void naming::show(int out, bool all, std::int64_t limit_ns) noexcept {
  if (fd_ < 0) return;
  os::system_call(SYS_lseek, fd_, 0, SEEK_SET);
  plan what{fd_, out, all};
  long child = start(what);
  if (child < 0) return;
  int status = wait_for(child, limit_ns);
  if (status == -1) printer(out) << "\n(weft-symbolizer took too long)\n";
  else if (status != 0) printer(out) << "\n(weft-symbolizer failed: status " << status << ")\n";
}

}  // namespace weft::inline v0::rt
