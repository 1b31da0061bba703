// inside.hpp — a thread is inside the runtime or outside (user or foreign code).
//
//   enter()                                             leave()
//     gate = g+1                                W1        gate = g+2           (release)   W2
//     light barrier                                       mark set? -> leave_slow
//     lease == my copy of it?                   R1
//     no -> enter_slow
//
//   claim(m): gate even? lease held->claimed, heavy barrier, gate unchanged? lease claimed->taken (claim.cpp)
//
// Inside, a goroutine has a P that nobody can take; outside, its P can be claimed at any instant, and it
// notices when it next enters. Every public function that touches P, M or a runtime lock goes through both.
//
//   inside           for functions that never park: the goroutine keeps its thread. A pending preemption is
//                    honoured by giving the P to another thread (thread-bound), never by a switch.
//   inside_parking   for functions documented as parking: leaving may yield.
//   inside_briefly   for a callback that somebody waits for: leaving does not look at the mark.
//
// In between no malloc, no stdio, no loader, no exception, no code of a user's type: foreign code may hold
// the locks they need (CONTRIBUTING.md, Inside the runtime).
#pragma once
#include "context/thread_pointer.hpp"
#include "sched/machine.hpp"

namespace weft::inline v0::rt {

machine* adopt_thread() noexcept;                  // a foreign thread's first call: its M and thread-backed G
void enter_slow(machine* mp) noexcept;             // the lease has changed: waits for a P, for ever at an end
void leave_slow(machine* mp) noexcept;             // the mark is set, in a function that does not park
void leave_parking_slow(machine* mp) noexcept;     // the mark is set, in one that may
void resume_exit(machine* mp);                     // exit() was swallowed: throws it again, from outside

inline machine* enter() noexcept {
  machine* mp = this_machine();
  if (mp == nullptr) [[unlikely]] mp = adopt_thread();
  mp->gate.enter();
  light_barrier();
  if (!mp->lease.is_mine()) [[unlikely]] enter_slow(mp);
  return mp;
}

inline void leave(machine* mp) noexcept {
  mp->gate.leave();
  std::atomic_signal_fence(seq_cst);
  // [order] relaxed: a request, no data with it
  if (mp->mark.load(relaxed) != 0) [[unlikely]] leave_slow(mp);
}

inline void leave_parking() noexcept {
  machine* mp = this_machine();
  if (mp->mark.load(relaxed) != 0) [[unlikely]] {                 // [order] as above
    leave_parking_slow(mp);                                       // may switch threads; still inside
    mp = this_machine();
  }
  mp->gate.leave();
}

class [[nodiscard]] inside {
 public:
  inside() noexcept : mp_(enter()) {}
  ~inside() { leave(mp_); }
  inside(const inside&) = delete;
  inside& operator=(const inside&) = delete;
  machine* operator->() const noexcept { return mp_; }
  machine* get() const noexcept { return mp_; }

 private:
  machine* mp_;   // cannot change: nothing here parks
};

class [[nodiscard]] inside_briefly {   // the goroutine goes on whatever its P is wanted for
 public:
  inside_briefly() noexcept : mp_(enter()) {}
  ~inside_briefly() { mp_->gate.leave(); }
  inside_briefly(const inside_briefly&) = delete;
  inside_briefly& operator=(const inside_briefly&) = delete;

 private:
  machine* mp_;
};

class [[nodiscard]] inside_parking {
 public:
  // Before anything is locked. Throws goroutine_exit when the goroutine has swallowed it (exit()).
  inside_parking() : entered_(enter()) {
    if (entered_->current->exiting) [[unlikely]] resume_exit(entered_);
  }
  ~inside_parking() { leave_parking(); }
  inside_parking(const inside_parking&) = delete;
  inside_parking& operator=(const inside_parking&) = delete;
  const machine* before_park() const noexcept { return entered_; }   // afterwards it may be another one

 private:
  machine* entered_;
};

}  // namespace weft::inline v0::rt
