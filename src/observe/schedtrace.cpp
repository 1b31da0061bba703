// schedtrace.cpp — the fields are Go's (go doc runtime, "schedtrace"). Where ours has nothing of the kind,
// the value is the one that says so: gcwaiting is "the world is being stopped", mallocing, throwing,
// preemptoff and locks stay at their defaults, sysmonwait is false while sysmon counts time.
//
// Locks: sched.lock for the two lists, only if it is free: the thread that died may hold it.
#include "observe/schedtrace.hpp"

#include "base/print.hpp"
#include "os/os.hpp"
#include "sched/inside.hpp"
#include "sched/sched.hpp"
#include "weft/dump.hpp"
#include "sched/threads.hpp"

namespace weft::inline v0::rt {
namespace {

struct idle_machines {
  std::size_t idle, locked;
};

idle_machines count_idle_machines() noexcept {
  bool mine = sched.lock.try_lock();
  idle_machines n{sched.idle_ms.size(), sched.locked_idle};   // without the lock: perhaps off by some
  if (mine) sched.lock.unlock();
  return n;
}

// As Go counts: the service threads (sysmon, helper, template) too, plain threads that use a channel not.
std::uint32_t count_threads() noexcept { return sched.machine_count + service_threads(); }

bool is_running_thread(const machine& m) noexcept {
  return m.thread_id != 0 && (!m.is_foreign || m.is_service);
}

std::int64_t ms_since_first() noexcept {
  static atomic<std::int64_t> first{0};
  std::int64_t now = os::nanotime(), start = 0;
  // [order] relaxed: a number, by itself
  if (first.compare_exchange_strong(start, now, relaxed)) start = now;
  return (now - start) / 1'000'000;
}

void print_summary(printer& out, bool detail, idle_machines waiting) noexcept {
  idle_word::counts idle = sched.idle.look();
  out << "SCHED " << ms_since_first()
      << "ms: gomaxprocs=" << sched.maxprocs.load(relaxed)   // [order] relaxed: a number
      << " idleprocs=" << idle.idle_processors() << " threads=" << count_threads()
      << " spinningthreads=" << idle.spinning()
      << " needspinning=" << int{idle.needs_waker() && sched.global.size() > 0}
      << " idlethreads=" << waiting.idle << " runqueue=" << sched.global.size();
  if (!detail) return;
  bool stopping = sched.stopping.load(relaxed);   // [order] relaxed: a number
  out << " gcwaiting=" << stopping << " nmidlelocked=" << waiting.locked << " stopwait=" << sched.stop_wait
      << " sysmonwait=" << false << '\n';
}

template <class Of>
void print_per_processor(printer& out, Of&& of) noexcept {
  std::uint32_t n = sched.maxprocs.load(acquire);   // [order] acquire: so many have been built
  out << "[ ";
  for (std::uint32_t i = 0; i < n; ++i) out << of(sched.processors[i]) << ' ';
  out << ']';
}

void print_processor(printer& out, processor& p) noexcept {
  machine* mp = p.mp.load(relaxed);   // [order] relaxed: numbers to show
  out << "  P" << p.id << ": status=" << static_cast<std::uint32_t>(p.status.load(relaxed))
      << " schedtick=" << p.schedtick.get() << " syscalltick=0 m=";
  if (mp) out << mp->id;
  else out << "nil";
  out << " runqsize=" << p.queue.size() << " gfreecnt=" << p.free_goroutines.count
      << " timerslen=" << p.timers.size() << '\n';
}

void print_goroutine_id(printer& out, const goroutine* gp) noexcept {
  if (gp) out << gp->id;
  else out << "nil";
}

void print_machine(printer& out, const machine& m) noexcept {
  // Its own word tells what it had when it was last inside; since then the P may have been taken from it.
  const processor* pp = m.pp;
  const bool has_p = pp && pp->mp.load(relaxed) == &m;   // [order] relaxed: numbers to show
  out << "  M" << m.id << ": p=";
  if (has_p) out << pp->id;
  else out << "nil";
  out << " curg=";
  print_goroutine_id(out, m.current);
  out << " mallocing=0 throwing=0 preemptoff= locks=0 dying=0 spinning=" << m.spinning
      << " blocked=" << m.on_idle_list << " lockedg=";
  print_goroutine_id(out, m.locked_gp);
  out << '\n';
}

const machine* machine_that_runs(const goroutine* gp) noexcept {
  for (machine* mp = sched.all_ms; mp; mp = mp->next_machine) {
    if (mp->current == gp) return mp;
  }
  return nullptr;
}

void print_goroutine(printer& out, const goroutine* gp) noexcept {
  g_status status = gp->status.load(relaxed);   // [order] relaxed: numbers to show
  if (gp->id == 0 || status == g_status::idle || status == g_status::dead) return;   // a block in a free list
  if (gp->is_thread && status != g_status::waiting) return;   // a plain thread that merely exists
  const machine* mp = status == g_status::running ? machine_that_runs(gp) : nullptr;
  // [order] relaxed: as above
  out << "  G" << gp->id << ": status=" << static_cast<unsigned>(status) << '('
      << (status == g_status::waiting ? to_text(gp->reason.load(relaxed)) : "") << ") m=";
  if (mp) out << mp->id;
  else out << "nil";
  out << " lockedm=";
  if (gp->bound) out << gp->bound->id;
  else out << "nil";
  out << '\n';
}

void print_details(printer& out) noexcept {
  std::uint32_t n = sched.maxprocs.load(acquire);   // [order] acquire: so many have been built
  for (std::uint32_t i = 0; i < n; ++i) print_processor(out, sched.processors[i]);
  for (machine* mp = sched.all_ms; mp; mp = mp->next_machine) {
    if (is_running_thread(*mp)) print_machine(out, *mp);
  }
  auto each = [](goroutine* gp, void* p) { print_goroutine(*static_cast<printer*>(p), gp); };
  for_each_goroutine(each, &out);
}

void print_queues(printer& out) noexcept {
  out << ' ';
  print_per_processor(out, [](processor& p) { return p.queue.size(); });
  out << " schedticks=";
  print_per_processor(out, [](processor& p) { return p.schedtick.get(); });
  out << '\n';
}

}  // namespace

void print_schedtrace(bool detail) noexcept {
  if (!sched.running.load(relaxed)) return;   // [order] relaxed: between two worlds there is nothing to tell
  printer out;
  print_summary(out, detail, count_idle_machines());
  if (detail) print_details(out);
  else print_queues(out);
}

}  // namespace weft::inline v0::rt

namespace weft::inline v0 {

void print_schedtrace(int fd) {
  using namespace rt;
  const idle_machines waiting = [] {
    inside guard;   // a runtime lock
    return count_idle_machines();
  }();
  printer out(fd);
  print_summary(out, false, waiting);
  print_queues(out);
}

}  // namespace weft::inline v0
