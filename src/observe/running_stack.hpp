// running_stack.hpp — the stack of a goroutine that another thread runs, or keeps stopped: that thread walks
// it.
//
//   who dumps                                       the thread
//   leave a request with its M
//   send SIGURG, marked as such; wake it if it      in the signal handler, or in its wait for a P: takes the
//   waits for a P                                   request, walks, says so
//   wait, but not for long; take it back
//
// R1  one request at a time; who has taken it is waited for, as long as the process lives
// R2  a thread that blocks the signal is not asked, and nobody any more when that has cost `patience`: on a
//     busy machine a thread may have to wait long for a CPU
// R3  of two SIGURGs that wait to be delivered the kernel keeps one, perhaps that which ends a slice: its
//     handler looks for a request too
// What foreign code may see of it: EINTR, as from the signal that ends a slice.
#pragma once
#include "observe/backtrace.hpp"
#include "sched/sched.hpp"

namespace weft::inline v0::rt {

class running_stacks {          // of one dump
 public:
  explicit running_stacks(bool dying) noexcept : dying_(dying) {}
  // Where gp runs or waits for its turn: mp. False: no answer; `into` is as it was.
  bool walk(machine* mp, goroutine* gp, backtrace& into) noexcept;

 private:
  bool dying_;
  std::int64_t waited_ = 0;
};

// The port: on the M's own thread, in the handler (with its ucontext) or where it waits for a P.
void answer_stack_request(machine* mp, const void* context) noexcept;

}  // namespace weft::inline v0::rt
