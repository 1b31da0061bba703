// switch.cpp — from one stack to another, and what runs at the two ends of a goroutine.
//
//   park ──┬── quick look found X ──> switch_to(X)        arriving: run the commit that was left on the M,
//          └── nothing ───────────> switch_to_g0          then errno and exception globals become its own
//
//   goroutine_main(G):  arrive · outside: run the closure · inside: end it · then, without leaving the stack,
//                       the next one if it is fresh (no switch at all); a started one, or g0, by a jump
//
// I1  the commit of whoever switched away runs before anything else on the resumed stack
// I2  mp is read anew after every switch: the stack may have changed threads
// I3  a dying goroutine's stack and block are freed by a commit too: nobody may get them while we are on them
#include "sched/sched.hpp"
#include "weft/this_goroutine.hpp"

namespace weft::inline v0::rt {
namespace {

inline void run_commit(machine* mp) noexcept {
  if (commit_fn commit = mp->commit) {
    mp->commit = nullptr;
    commit(mp->commit_arg);
  }
}

// On a goroutine's stack, right after a switch.
inline machine* arrive() noexcept {
  machine* mp = this_machine();
  goroutine* gp = mp->current;
  sanitizer::after_switch(gp->fibre);
  sanitizer::hb_acquire(&mp->home);                  // what the thread was before it ran goroutines
  run_commit(mp);
  load_carried(gp->carried, mp->home);
  return mp;
}

inline void start_running(machine* mp, goroutine* to) noexcept {
  mp->current = to;
  to->status.store(g_status::running, relaxed);      // [order] relaxed: whoever dequeued it owns it
  ++mp->pp->switches;
}

void free_dead(void* arg) noexcept {                 // the commit of a goroutine that has ended
  auto* gp = static_cast<goroutine*>(arg);
  processor* pp = this_machine()->pp;
  sanitizer::fibre_end(gp->fibre);
  sanitizer::hb_release(gp->on_stack.bottom);
  if (gp->stack_size == 0)
    pp->stacks.give(gp->on_stack);
  else
    stack_free(gp->on_stack);
  gp->on_stack = {};
  // [order] relaxed: a hint; who is missed gets the next stack that becomes free
  if (sched.without_stack.load(relaxed) != 0) [[unlikely]] retry_stackless();
  free_goroutine(pp, gp);
}

void run_closure(goroutine* gp) {
  try {
    gp->entry(gp->closure());
  } catch (const goroutine_exit&) {
    // this_goroutine::exit(): everything is unwound. Any other exception finds no handler up to the end of
    // the stack, so terminate is called with the throwing frames intact.
  }
  if (gp->locals != nullptr && ports.end_goroutine != nullptr) ports.end_goroutine(gp);
  delete_closure(gp);
}

// Inside, on the dying goroutine's own stack: it is not running any more but for us.
void end_goroutine(machine* mp, goroutine* gp) noexcept {
  emit(event::goroutine_end, gp->id);
  ++mp->pp->ended;
  sanitizer::hb_release(gp);
  sanitizer::hb_release(&sched.world_over);          // run() returns after us
  gp->status.store(g_status::dead, relaxed);         // [order] relaxed: ours until its block is freed
  if (gp->bound != nullptr) end_locked(mp, gp);
  if (gp->is_main) end_main(gp);
}

// The next one has not started yet and wants a stack of the same size: it gets this one as it stands.
bool inherit_stack(machine* mp, goroutine* dead, goroutine* next) noexcept {
  if (next->is_started() || next->stack_size != dead->stack_size) return false;
  sanitizer::fibre old_fibre = dead->fibre;
  next->on_stack = dead->on_stack;
  dead->on_stack = {};
  sanitizer::unpoison_stack(next->on_stack.bottom, next->on_stack.size());
  sanitizer::hb_release(next->on_stack.bottom);
  sanitizer::fibre_start(next->fibre);
  sanitizer::before_switch(dead->fibre, next->fibre, next->on_stack.bottom, next->on_stack.size(), true);
  sanitizer::after_switch(next->fibre);
  sanitizer::hb_acquire(next->on_stack.bottom);
  sanitizer::hb_acquire(&mp->home);
  sanitizer::fibre_end(old_fibre);
  dead->fibre = {};
  reset_fp_env(dead->fp_env);
  free_goroutine(mp->pp, dead);
  start_running(mp, next);
  load_carried(next->carried, mp->home);
  return true;
}

// Leaves a dead goroutine's stack. Returns only when the next one runs on it.
// Not for ASan: before what never returns it asks libc for the bounds of this stack, and that calls malloc.
[[gnu::no_sanitize_address]] goroutine* leave_dead(machine* mp, goroutine* dead) noexcept {
  goroutine* next = take_next(mp);
  if (next != nullptr && next->fp_env && next->is_started()) {   // a jump carries no MXCSR
    mp->picked = next;
    next = nullptr;
  }
  if (next != nullptr && inherit_stack(mp, dead, next)) return next;
  if (next != nullptr && !next->is_started() && !give_stack(mp->pp, next)) {
    mp->picked = next;
    next = nullptr;
  }
  mp->commit = free_dead;
  mp->commit_arg = dead;
  if (dead->fp_env) [[unlikely]] reset_fp_env(true);   // a jump carries no MXCSR
  if (next != nullptr) {
    start_running(mp, next);
    sanitizer::before_switch(dead->fibre, next->fibre, next->on_stack.bottom, next->on_stack.size(), true);
    jump(next->saved);
  }
  mp->current = nullptr;
  sanitizer::before_switch(dead->fibre, mp->g0_fibre, nullptr, 0, true);
  jump(mp->g0);
}

[[noreturn]] void goroutine_main(void* arg) {
  auto* gp = static_cast<goroutine*>(arg);
  machine* mp = arrive();
  for (;;) {
    sanitizer::hb_acquire(gp);                       // go() and what came before it
    emit(event::goroutine_start, gp->id);
    if (gp->starts_locked) lock_thread(mp);
    leave_parking();
    run_closure(gp);
    mp = enter();
    end_goroutine(mp, gp);
    gp = leave_dead(mp, gp);
  }
}

}  // namespace

bool give_stack(processor* pp, goroutine* gp) noexcept {
  const stack s = gp->stack_size == 0 && pp != nullptr ? pp->stacks.take() : stack_allocate(gp->stack_size);
  if (!s) return false;
  sanitizer::hb_acquire(s.bottom);
  gp->on_stack = s;
  sanitizer::unpoison_stack(s.bottom, s.size());
  sanitizer::fibre_start(gp->fibre);
  gp->saved = make_context(s.top, goroutine_main, gp);
  return true;
}

void switch_to(machine* mp, goroutine* from, goroutine* to) noexcept {
  save_carried(from->carried, mp->home);
  start_running(mp, to);
  sanitizer::before_switch(from->fibre, to->fibre, to->on_stack.bottom, to->on_stack.size(), false);
  if (from->fp_env || to->fp_env) [[unlikely]]
    weft_switch_fp(&from->saved, to->saved);
  else
    weft_switch(&from->saved, to->saved);
  arrive();
}

void switch_to_g0(machine* mp, goroutine* from) noexcept {
  save_carried(from->carried, mp->home);
  stack_check(from->on_stack);
  mp->current = nullptr;
  sanitizer::before_switch(from->fibre, mp->g0_fibre, nullptr, 0, false);
  if (from->fp_env) [[unlikely]]
    weft_switch_fp(&from->saved, mp->g0);
  else
    weft_switch(&from->saved, mp->g0);
  arrive();
}

void execute(machine* mp, goroutine* to) noexcept {
  if (!to->is_started() && !give_stack(mp->pp, to)) {
    hold_stackless(to);
    return;
  }
  start_running(mp, to);
  sanitizer::before_switch(mp->g0_fibre, to->fibre, to->on_stack.bottom, to->on_stack.size(), false);
  if (to->fp_env) [[unlikely]]
    weft_switch_fp(&mp->g0, to->saved);
  else
    weft_switch(&mp->g0, to->saved);
  sanitizer::after_switch(mp->g0_fibre);
  run_commit(mp);                                    // g0 never changes threads: mp is still ours
}

}  // namespace weft::inline v0::rt
