// exit.cpp — the process ends from within, or a thread does: exit(), quick_exit(), pthread_exit().
//
// exit() in a goroutine runs the handlers and the destructors of static objects there, on its stack, and the
// other goroutines go on meanwhile, as other threads do. What an end needs may be locked by a thread that
// waits in our signal handler for its turn (malloc's lock, a stream's). So from our exit handler on nobody is
// stopped any more, and who was goes on without a P (let_go.cpp).
//
// The handler is registered by the first run(): statics from before it are destroyed after it. For those that
// came later the stack is asked whether exit() is on it.
#include <pthread.h>
#include <stdlib.h>
#include <unwind.h>

#include "context/sanitizer.hpp"
#include "sched/let_go.hpp"
#include "sched/sched.hpp"

namespace weft::inline v0::rt {
namespace {

void on_exit() noexcept {
  exiting.store(true, release);                      // [order] release: sysmon and destructors see it soon
  wake_sysmon();
}

_Unwind_Reason_Code is_frame_of_exit(_Unwind_Context* context, void* found) {
  int before_instruction = 0;
  auto pc = static_cast<std::uintptr_t>(_Unwind_GetIPInfo(context, &before_instruction));
  if (pc == 0) return _URC_END_OF_STACK;
  // A call that never returns may be the last instruction: the address after it is the next function's.
  void* function = _Unwind_FindEnclosingFunction(reinterpret_cast<void*>(pc - 1));
  if (function != reinterpret_cast<void*>(&::exit)) return _URC_NO_REASON;
  *static_cast<bool*>(found) = true;
  return _URC_END_OF_STACK;
}

pthread_key_t end_of_machine;

// pthread_exit, or a cancellation, in a goroutine: its P, its stack and who waits for it would be lost.
void on_end_of_machine(void*) noexcept {
  constexpr std::size_t enough = 16 << 10;           // g0's frames were left by force: ASan still has them
  sanitizer::unpoison_stack(static_cast<char*>(__builtin_frame_address(0)) - enough, enough);
  if (!exiting.load(relaxed)) fatal("pthread_exit in a goroutine");   // [order] relaxed: a diagnosis
}

}  // namespace

constinit atomic<bool> exiting{false};

void install_exit_handlers() noexcept {
  if (atexit(on_exit) != 0 || at_quick_exit(on_exit) != 0) fatal("out of memory for an exit handler");
  if (pthread_key_create(&end_of_machine, on_end_of_machine) != 0) fatal("no pthread key left");
}

void watch_end_of_machine(machine* mp) noexcept { pthread_setspecific(end_of_machine, mp); }

bool process_exits() noexcept {
  if (exiting.load(acquire)) return true;            // [order] acquire: pairs with on_exit()
  bool found = false;
  _Unwind_Backtrace(is_frame_of_exit, &found);
  return found;
}

}  // namespace weft::inline v0::rt
