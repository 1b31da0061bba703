// backtrace.cpp — _Unwind_Backtrace, bounded, and caught when it falls.
#include "observe/backtrace.hpp"

#include <setjmp.h>
#include <signal.h>
#include <unwind.h>

#include "base/atomic.hpp"
#include "os/linux/fault.hpp"
#include "os/os.hpp"

namespace weft::inline v0::rt {
namespace {

constexpr std::size_t frames_max = 10'000'000;   // a chain that has become a ring

struct walk {
  backtrace* into;
  const void* fault_context;
  std::size_t seen = 0;
};

_Unwind_Reason_Code see_frame(_Unwind_Context* context, void* p) {
  auto* w = static_cast<walk*>(p);
  int before_instruction = 0;
  auto pc = static_cast<std::uintptr_t>(_Unwind_GetIPInfo(context, &before_instruction));
  if (pc == 0 || ++w->seen > frames_max) return _URC_END_OF_STACK;
  // The handler and what it has called lie on top of the interrupted frame.
  if (w->fault_context && before_instruction && pc == os::interrupted_pc(w->fault_context)) w->into->clear();
  w->into->add({reinterpret_cast<const void*>(pc), before_instruction != 0});
  return _URC_NO_REASON;
}

// ---- the guard ----
constexpr int faults[] = {SIGSEGV, SIGBUS};
struct sigaction handlers_before[2];
jmp_buf way_out;
atomic<std::int32_t> walker{0};   // [order] relaxed everywhere: each thread compares it with its own id only

void on_fault(int signal, siginfo_t* info, void* context) {
  if (walker.load(relaxed) == os::thread_id()) {
    walker.store(0, relaxed);
    _longjmp(way_out, 1);                            // unwind() puts the mask right
  }
  const struct sigaction& next = handlers_before[signal == SIGSEGV ? 0 : 1];
  if (next.sa_flags & SA_SIGINFO) next.sa_sigaction(signal, info, context);
  else if (next.sa_handler != SIG_DFL && next.sa_handler != SIG_IGN) next.sa_handler(signal);
  else sigaction(signal, &next, nullptr);   // again, and by default
}

atomic<int> guards{0};   // [order] relaxed everywhere: who walks for a dump comes after its beginning

sigset_t set_of_faults() noexcept {
  sigset_t s;
  sigemptyset(&s);
  for (int fault : faults) sigaddset(&s, fault);
  return s;
}

[[gnu::noinline]] void unwind(walk& w) noexcept {
  if (guards.load(relaxed) == 0) {   // [order] as above; walker: as there
    _Unwind_Backtrace(see_frame, &w);
    return;
  }
  const sigset_t mine = set_of_faults();
  sigset_t before;
  pthread_sigmask(SIG_UNBLOCK, &mine, &before);     // perhaps we are in a signal handler
  walker.store(os::thread_id(), relaxed);            // [order] as above, here and below
  if (_setjmp(way_out) == 0) _Unwind_Backtrace(see_frame, &w);
  walker.store(0, relaxed);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

}  // namespace

walk_guard::walk_guard() noexcept {
  struct sigaction action {};
  sigfillset(&action.sa_mask);
  action.sa_flags = SA_ONSTACK | SA_SIGINFO;
  action.sa_sigaction = on_fault;
  for (int i = 0; i < 2; ++i) {
    struct sigaction before;
    sigaction(faults[i], &action, &before);
    if (!(before.sa_flags & SA_SIGINFO) || before.sa_sigaction != on_fault) handlers_before[i] = before;
  }
  guards.fetch_add(1, relaxed);   // [order] as above
}

walk_guard::~walk_guard() {
  if (guards.fetch_sub(1, relaxed) != 1) return;   // [order] as above. A dump within a dump: the process dies
  for (int i = 0; i < 2; ++i) sigaction(faults[i], &handlers_before[i], nullptr);
}

void backtrace::add(frame f) noexcept {
  if (total_ < innermost_kept) innermost_[total_] = f;
  else outermost_[(total_ - innermost_kept) % outermost_kept] = f;
  ++total_;
}

std::size_t backtrace::shown() const noexcept {
  constexpr std::size_t kept = innermost_kept + outermost_kept;
  return total_ < kept ? total_ : kept;
}

backtrace::frame backtrace::operator[](std::size_t i) const noexcept {
  if (i < innermost_kept) return innermost_[i];
  return outermost_[(i - innermost_kept + elided()) % outermost_kept];
}

void backtrace::walk_here(const void* fault_context) noexcept {
  clear();
  walk w{this, fault_context};
  unwind(w);
}

void backtrace::walk_parked(const context& of) noexcept {
  clear();
  walk w{this, nullptr};
  call_on_top_of(of, [](void* p) { unwind(*static_cast<walk*>(p)); }, &w);
}

}  // namespace weft::inline v0::rt
