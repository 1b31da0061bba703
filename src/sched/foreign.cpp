// foreign.cpp — M records, and the threads that the runtime did not start.
//
// Such a thread gets a record, with a thread-backed G, at its first call, and gives both back when it ends.
//
// I1  a record is never unmapped: claims and dumps may look at one at any time (docs/threads.md)
// I2  its gate and its lease go on counting with the next thread, so a number that somebody has seen names
//     one stay and one possession for ever
// I3  an M's record goes to an M again. Whoever gives an M a P wakes its note after the lock, perhaps much
//     later, when another thread has the record: an M looks what it was woken for, a foreign thread does not
#include <pthread.h>

#include <new>

#include "os/os.hpp"
#include "sched/fork.hpp"
#include "sched/sched.hpp"

namespace weft::inline v0::rt {
namespace {

struct {
  ranked_lock<lock_rank::slab> lock;
  stack_list<machine, &machine::link> free[2];       // of foreign threads, of Ms
  std::byte* chunk = nullptr;
  std::size_t left = 0;
} records;

constexpr std::size_t chunk_bytes = 64 * 1024;

pthread_key_t end_of_thread;

void forget_thread(void* p) noexcept {               // pthread's destructor, on the ending thread, outside
  if (in_forked_child()) return;
  auto* mp = static_cast<machine*>(p);
  set_this_machine(mp);                              // other destructors may have run before
  goroutine* gp = mp->thread_gp;
  if (gp->locals != nullptr && ports.end_goroutine != nullptr) ports.end_goroutine(gp);
  set_this_machine(nullptr);
  gp->is_thread = false;
  gp->home = nullptr;
  free_goroutine(nullptr, gp);
  mp->thread_gp = mp->current = nullptr;
  free_machine(mp);
}

}  // namespace

machine* new_machine(bool foreign) noexcept {
  machine* mp;
  bool fresh = false;
  {
    locked hold(records.lock);
    mp = records.free[!foreign].pop();
    if (mp == nullptr) {
      if (records.left < sizeof(machine)) {
        records.chunk = static_cast<std::byte*>(os::allocate_pages(chunk_bytes));
        records.left = records.chunk != nullptr ? chunk_bytes : 0;
        if (records.chunk == nullptr) return nullptr;
      }
      mp = ::new (records.chunk) machine;
      records.chunk += sizeof(machine);
      records.left -= sizeof(machine);
      fresh = true;
    }
  }
  locked hold(sched.lock);
  mp->random = random_source(static_cast<std::uint64_t>(os::nanotime()) + mp->id);
  if (fresh) {
    mp->id = sched.next_machine_id++;
    mp->next_machine = sched.all_ms;
    sched.all_ms = mp;
  }
  return mp;
}

void free_machine(machine* mp) noexcept {
  const bool foreign = mp->is_foreign;
  mp->is_foreign = mp->is_service = mp->thread_ends = false;
  mp->not_needed.store(false, relaxed);              // [order] relaxed: published by the lock
  mp->thread_id = 0;
  locked hold(records.lock);
  records.free[!foreign].push(mp);
}

void forget_this_thread() noexcept {
  machine* mp = this_machine();
  if (mp == nullptr) return;
  pthread_setspecific(end_of_thread, nullptr);
  forget_thread(mp);
}

machine* adopt_thread() noexcept {
  refuse_in_forked_child();
  runtime_init();
  static const bool have_key = pthread_key_create(&end_of_thread, forget_thread) == 0;
  machine* mp = new_machine(true);
  goroutine* gp = take_goroutine(nullptr);
  if (mp == nullptr || gp == nullptr || !have_key) fatal("out of memory for a thread's record");
  mp->is_foreign = true;
  mp->home = find_carried_home();
  mp->thread_id = os::thread_id();
  sanitizer::adopt_thread(mp->g0_fibre);
  gp->is_thread = true;
  gp->home = mp;
  gp->id = new_goroutine_id(nullptr);
  gp->parent_id = 0;
  gp->created_at = nullptr;
  gp->name = nullptr;
  gp->world = 0;
  gp->exiting = false;
  gp->status.store(g_status::running, relaxed);      // [order] relaxed: it is nobody else's
  mp->thread_gp = mp->current = gp;
  set_this_machine(mp);
  pthread_setspecific(end_of_thread, mp);
  return mp;
}

}  // namespace weft::inline v0::rt
