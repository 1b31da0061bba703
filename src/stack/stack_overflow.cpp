// stack_overflow.cpp — a fault in a guard becomes a report; any other goes to whoever was there before.
//
// The handler runs on the thread's alternate stack (the goroutine's own has no room left) with all signals
// blocked. It takes no lock: which stack it was is found in tables that only grow.
#include <errno.h>
#include <signal.h>
#include <sys/auxv.h>

#include <algorithm>
#include <new>

#include "base/atomic.hpp"
#include "base/check.hpp"
#include "os/linux/syscall.hpp"
#include "os/os.hpp"
#include "stack/stack_guard.hpp"

namespace weft::inline v0::rt {
namespace {

// ---- alternate stacks:  | guard page | header, signal stack ......... | ----

constexpr std::uint64_t ours = 0x7374616b2d616c74;   // tells our alternate stack from another library's

struct alternate_header {
  std::uint64_t mark;
  std::size_t mapped;
};

std::size_t alternate_size() noexcept {
  std::size_t least = getauxval(AT_MINSIGSTKSZ);   // 0 on old kernels; large with AVX-512 or SVE
  std::size_t page = os::page_size();
  return (std::max<std::size_t>(64 << 10, 4 * least) + page - 1) / page * page;
}

// ---- the handler ----

// [order] relaxed, both: set before the handler is installed, and nothing goes with them.
atomic<overflow_report> report_port{nullptr};
atomic<bool> installed{false};
struct sigaction before_segv, before_bus;

void set_default(int number) noexcept {
  struct sigaction action {};
  action.sa_handler = SIG_DFL;
  sigaction(number, &action, nullptr);
}

// The kernel raises a fault again when the instruction runs again; a signal that somebody sent has to be sent
// again.
void die_by_default(int number, const siginfo_t* info) noexcept {
  set_default(number);
  if (info->si_code <= 0)
    os::system_call(SYS_tgkill, os::system_call(SYS_getpid), os::thread_id(), number);
}

void chain(int number, siginfo_t* info, void* context) noexcept {
  const struct sigaction& before = number == SIGSEGV ? before_segv : before_bus;
  if (before.sa_flags & SA_SIGINFO) return before.sa_sigaction(number, info, context);
  if (before.sa_handler == SIG_IGN && info->si_code <= 0) return;   // only a sent one can be ignored
  if (before.sa_handler == SIG_DFL || before.sa_handler == SIG_IGN) return die_by_default(number, info);
  before.sa_handler(number);
}

void on_fault(int number, siginfo_t* info, void* context) noexcept {
  int kept = errno;
  stack which;
  bool overflow = info->si_code > 0 && stack_guard_hit(info->si_addr, which);
  if (overflow) die_of_overflow(which, info->si_addr, context);
  chain(number, info, context);
  errno = kept;
}

}  // namespace

void install_alternate_stack() noexcept {
  stack_t now{};
  if (sigaltstack(nullptr, &now) == 0 && !(now.ss_flags & SS_DISABLE)) return;
  std::size_t page = os::page_size(), size = alternate_size();
  auto* p = static_cast<std::byte*>(os::reserve(page + size));
  if (p == nullptr) return;
  if (!os::commit(p + page, size)) return os::free_pages(p, page + size);
  new (p + page) alternate_header{ours, page + size};
  constexpr std::size_t skipped = 64;   // the header, in a line of its own
  stack_t mine{};
  mine.ss_sp = p + page + skipped;
  mine.ss_size = size - skipped;
  sigaltstack(&mine, nullptr);
}

void remove_alternate_stack() noexcept {
  stack_t now{};
  if (sigaltstack(nullptr, &now) != 0 || (now.ss_flags & (SS_DISABLE | SS_ONSTACK))) return;
  std::size_t page = os::page_size();
  // Ours begin 64 bytes into a page; only then may the words before it be looked at.
  if (reinterpret_cast<std::uintptr_t>(now.ss_sp) % page != 64) return;
  auto* header = reinterpret_cast<alternate_header*>(static_cast<std::byte*>(now.ss_sp) - 64);
  if (header->mark != ours) return;
  stack_t off{};
  off.ss_flags = SS_DISABLE;
  sigaltstack(&off, nullptr);
  os::free_pages(reinterpret_cast<std::byte*>(header) - page, header->mapped);
}

void install_overflow_handler(overflow_report report) noexcept {
  report_port.store(report, relaxed);   // [order] relaxed, here and below: see there
  if (installed.exchange(true, relaxed)) return;
  struct sigaction action {};
  action.sa_sigaction = on_fault;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK;
  sigfillset(&action.sa_mask);
  sigaction(SIGSEGV, &action, &before_segv);
  sigaction(SIGBUS, &action, &before_bus);
}

void die_of_overflow(const stack& which, const void* address, const void* ucontext) noexcept {
  begin_fatal();
  // [order] relaxed: set before the handler was installed
  if (overflow_report report = report_port.load(relaxed)) report(which, address, ucontext);
  finish_fatal(2, ucontext);
}

}  // namespace weft::inline v0::rt
