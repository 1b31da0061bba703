// running_stack.cpp — see running_stack.hpp.
#include "observe/running_stack.hpp"

#include <errno.h>

#include "os/os.hpp"

namespace weft::inline v0::rt {
namespace {

constexpr std::int64_t ms = 1'000'000;
constexpr std::int64_t one_answer = 3'000 * ms, one_walk = 500 * ms, patience = 4'000 * ms;

// It blocks the signal, and not because it is in our handler: there it crosses the gate, and on the way in
// and out it needs no time worth mentioning, though it may have to wait for a CPU.
bool is_deaf(const machine* mp) noexcept {
  constexpr std::int64_t in_handler = 2 * ms;
  const std::int64_t end = os::nanotime() + one_answer, used = os::thread_cpu_time(mp->thread_id);
  const std::uint64_t gate = mp->gate.look();
  for (int blocked = 0; os::nanotime() < end; os::sleep_ns(1 * ms)) {
    // [order] relaxed: a hint
    if (!os::blocks_interrupts(mp->thread_id) || mp->interrupted.load(relaxed)) return false;
    const bool for_long = os::thread_cpu_time(mp->thread_id) - used > in_handler;
    if (!os::thread_is_running(mp->thread_id)) ++blocked;
    if (mp->gate.look() != gate) return false;
    if (for_long || blocked == 3) return true;
  }
  return true;
}

}  // namespace

struct stack_request {
  goroutine* gp = nullptr;
  backtrace* into = nullptr;
  bool found = false;
  atomic<std::uint32_t> done{0};
};

bool running_stacks::walk(machine* mp, goroutine* gp, backtrace& into) noexcept {
  static stack_request r;                            // a late answer, in a dying process, finds it
  const std::int64_t start = os::nanotime();
  if (waited_ >= patience || mp->thread_id == 0 || is_deaf(mp)) return false;
  r.gp = gp;
  r.into = &into;
  r.found = false;
  r.done.store(0, relaxed);                          // [order] relaxed: published by the next store
  mp->stack_wanted.store(&r, release);               // [order] release: pairs with answer_stack_request()
  os::interrupt_thread(mp->thread_id, os::interrupt_for::stack);
  // Perhaps it stands in the handler, or is about to: then it looks when it is woken.
  if (!mp->is_foreign) mp->park_note.wake();
  std::int64_t limit = start + one_answer;
  while (r.done.load(acquire) == 0) {                // [order] acquire: what it wrote
    if (os::futex_wait(&r.done, 0, limit) != -ETIMEDOUT) continue;
    stack_request* mine = &r;
    // [order] acq_rel: pairs with the exchange of who answers
    if (mp->stack_wanted.compare_exchange_strong(mine, nullptr, acq_rel) || limit != start + one_answer) {
      waited_ += os::nanotime() - start;
      if (mine != &r) waited_ = patience;            // it is still at it: nobody else may be asked
      return false;
    }
    limit = dying_ ? start + one_answer + one_walk : os::forever;
  }
  return r.found;
}

void answer_stack_request(machine* mp, const void* context) noexcept {
  stack_request* r = mp->stack_wanted.exchange(nullptr, acq_rel);   // [order] acq_rel: taken, or taken back
  if (r == nullptr) return;
  if (mp->current == r->gp) {
    r->into->walk_here(context);
    r->found = true;
  }
  r->done.store(1, release);                         // [order] release: pairs with walk()
  os::futex_wake(&r->done, 1);
}

}  // namespace weft::inline v0::rt
