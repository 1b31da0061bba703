// world.cpp — run(): a world begins, its main goroutine runs, the world ends.
//
//   none ──run()──> running ──main returns──> ended ──every M idle or lost──> none
//
// I1  after the end no goroutine of the world runs again: Ms inside come to the idle list, an M in user code
//     loses its P by a claim and sleeps for ever at its next crossing (`lost`)
// I2  what is left of the world (waiters, timers, stop callbacks) finds its goroutines `abandoned` and skips
//     them; their blocks and stacks are never reused, so the memory it looks at stays
// The thread that calls run() sleeps until the end. It is no M: user code that a goroutine is stuck in must
// not keep run() from returning.
#include "os/os.hpp"
#include "base/print.hpp"
#include "sched/exit.hpp"
#include "sched/fork.hpp"
#include "sched/preempt.hpp"
#include "sched/threads.hpp"
#include "weft/runtime.hpp"

#include <algorithm>
#include <stdexcept>

namespace weft::inline v0::rt {

constinit scheduler sched;

namespace {

constexpr std::int64_t end_patience = 1'000'000'000; // for user code that still runs when main has returned
constexpr std::int64_t end_poll = 100'000;
constexpr std::size_t unlimited_main_stack = 8 << 20;

atomic<bool> world_exists{false};

std::uint32_t processors_wanted(const options& how) {
  const settings& c = current_settings();
  int n = how.maxprocs > 0 ? how.maxprocs : c.maxprocs;
  services.follow_procs.store(n == 0 && c.updatemaxprocs, relaxed);   // [order] relaxed: a setting
  if (n == 0) n = os::default_maxprocs(c.containermaxprocs);
  return static_cast<std::uint32_t>(std::clamp(n, 1, most_processors));
}

struct main_closure {   // lies in the main goroutine's block
  void (*entry)(void*);
  void* arg;
};

void run_main(void* p) {
  const main_closure c = *static_cast<main_closure*>(p);
  c.entry(c.arg);
}

void fill_in_main(goroutine* gp, void (*entry)(void*), void* arg) noexcept {
  ::new (gp->inline_closure) main_closure{entry, arg};
  gp->entry = run_main;
  gp->outside_align_log2 = 0;
  gp->id = sched.world.load(relaxed) == 1 ? 1 : new_goroutine_id(nullptr);   // [order] relaxed: ours
  gp->parent_id = 0;
  gp->created_at = nullptr;
  gp->saved = {};
  gp->carried = {};
  gp->exiting = gp->fp_env = gp->starts_locked = false;
  gp->name = nullptr;
  gp->is_main = true;
  const std::size_t limit = os::stack_limit();
  gp->stack_size = limit == 0 ? unlimited_main_stack : std::clamp<std::size_t>(limit, 64 << 10, 1 << 30);
  gp->world = static_cast<std::uint16_t>(sched.world.load(relaxed));   // [order] relaxed: we alone change it
}

// [order] relaxed, throughout: no M has a P yet; the lock, and the release of `running`, publish all of it.
goroutine* begin_world(std::uint32_t n, void (*entry)(void*), void* arg) noexcept {
  init_processors(n);
  for (std::uint32_t i = 0; i < n; ++i) {
    processor* pp = &sched.processors[i];
    pp->attention.store(0, relaxed);                 // [order] relaxed: as said above
    pp->status.store(p_status::idle, relaxed);
    pp->mp.store(nullptr, relaxed);
    pp->taken_from = nullptr;
  }
  sched.world.fetch_add(1, relaxed);
  sched.maxprocs.store(n, release);                  // [order] release: so many have been built
  sched.highest_maxprocs.store(n, release);
  sched.coarse_now.store(os::nanotime(), relaxed);
  goroutine* main = take_goroutine(nullptr);
  if (main == nullptr) fatal("out of memory for the main goroutine");
  fill_in_main(main, entry, arg);
  sanitizer::hb_release(main);
  emit(event::goroutine_create, main->id);
  sched.world_over.clear();
  {
    locked hold(sched.lock);
    sched.ended.store(false, relaxed);               // [order] relaxed: published by the lock
    for (std::uint32_t i = n; i-- > 0;) idle_put_p(&sched.processors[i]);
    sched.born_elsewhere.store(1 + sched.before_world.size(), relaxed);   // the main goroutine, and these
    while (goroutine* gp = sched.before_world.pop_front()) {
      gp->world = main->world;
      sched.global.push_back(gp);
    }
    main->status.store(g_status::runnable, relaxed); // [order] relaxed: published by the lock
    sched.global.push_back(main);
    sched.running.store(true, release);              // [order] release: go() anywhere finds a world set up
  }
  wake_p();
  wake_sysmon();
  return main;
}

// ---- the end ----

void count_lost(machine* mp) noexcept {              // under lock
  // [order] relaxed: under the lock; release: pairs with enter_slow(), wait_for_p_here() and settle()
  if (mp->lost.load(relaxed)) return;
  mp->lost.store(true, release);
  --sched.machine_count;
}

// It is outside, without a P. False: it has come back meanwhile (come_back() decides under the lock, too).
bool lose(machine* mp) noexcept {
  locked hold(sched.lock);
  if (mp->lease.look().state() != lease_state::taken) return false;
  count_lost(mp);
  return true;
}

// True: this M can do no more harm.
bool settle(machine* mp, bool patient) noexcept {
  // [order] acquire: pairs with stay_behind()
  if (mp->is_foreign || mp->thread_id == 0 || mp->lost.load(acquire)) return true;
  {
    locked hold(sched.lock);
    if (mp->on_idle_list) return true;
    if (mp->waits_for_p) {                           // its goroutine would go on outside: never
      if (mp->hands_on.load(acquire)) return false;  // [order] acquire: pairs with wait_for_p_here()
      mp->waits_for_p = false;
      mp->current->status.store(g_status::running, relaxed);   // [order] relaxed: read when all have settled
      count_lost(mp);
      mp->park_note.wake();
      return true;
    }
  }
  mp->mark.store(1, relaxed);                        // [order] relaxed: a request; it comes here by itself
  const std::uint64_t gate = mp->gate.look();
  if (!gate_word::is_outside(gate)) {
    // With a locked goroutine: it looks at `ended`.
    if (mp->lease.look().state() == lease_state::none) mp->park_note.wake();
    return false;
  }
  if (patient && os::thread_is_running(mp->thread_id)) return false;
  if (!patient)
    printer() << "weft: thread " << mp->thread_id << " still runs foreign code at the end of run();"
              << " it stops at its next call of Weft\n";
  // Its P may be gone already, for good (retake.cpp); but a stop of the world would give it back. None begins
  // any more: who is not at it now has seen, or will see, the end.
  const bool for_good = !helper_may_stop_world();
  const bool is_stray = for_good && mp->lease.look().state() == lease_state::taken;
  return (is_stray || claim_p(mp) != nullptr) && lose(mp);
}

void settle_all() noexcept {
  const std::int64_t deadline = os::nanotime() + end_patience;
  for (;;) {
    bool all = true;
    const bool patient = os::nanotime() < deadline;
    for (machine* mp = sched.all_ms; mp != nullptr; mp = mp->next_machine) all &= settle(mp, patient);
    if (all && !helper_may_stop_world() && !sysmon_looks()) {
      locked hold(sched.lock);
      withdraw_requests();
      // An M that comes up now goes straight to the idle list. A ticket may be on its way without an M: with
      // sysmon, or a foreign thread that called go().
      if (sched.threads_coming == 0 && (sched.idle.close() || !patient)) {
        sched.idle_ps = {};
        sched.waiting_ps = {};
        return;
      }
    }
    os::sleep_ns(end_poll);
  }
}

void abandon_rest(goroutine* gp, void*) noexcept {
  if (gp->is_thread) return;
  // [order] relaxed: no goroutine runs any more; release: pairs with whoever looks for `abandoned`
  switch (gp->status.load(relaxed)) {
    case g_status::runnable:
    case g_status::waiting: sanitizer::fibre_discard(gp->fibre, &sched.world_over); [[fallthrough]];
    case g_status::running: gp->status.store(g_status::abandoned, release); break;   // a lost thread is on it
    default: break;
  }
}

void clear_world() noexcept {
  for_each_goroutine(abandon_rest, nullptr);
  goroutine* rest[run_queue::most];
  // [order] relaxed, all of these: every M is idle or lost, and begin_world() publishes anew
  for (std::uint32_t i = 0; i < sched.maxprocs.load(relaxed); ++i) {
    processor* pp = &sched.processors[i];
    pp->queue.drain(rest);
    pp->timers.clear();
    pp->mp.store(nullptr, relaxed);
  }
  locked hold(sched.lock);
  sched.global.clear();
  sched.stackless = {};
  sched.without_stack.store(0, relaxed);             // [order] as above
  sched.strays.store(0, relaxed);
  sched.idle_ps = {};
  sched.waiting_ps = {};
  sched.idle.reset();
  for (std::uint32_t i = 0; i < sched.highest_maxprocs.load(relaxed); ++i)
    sched.processors[i].born = 0, sched.processors[i].ended = 0;
  sched.born_elsewhere.store(0, relaxed);
  poller.world_ended();
}

}  // namespace

void runtime_init() noexcept {
  static const bool done = [] {
    barrier_init();
    set_held_locks_port([]() noexcept {
      machine* mp = this_machine();
      return mp != nullptr ? &mp->held : nullptr;
    });
    settings_init();
    const settings& c = current_settings();
    stack_init({c.stack_size, c.strict_guards});
    init_processors(1);
    sched.coarse_now.store(os::nanotime(), relaxed); // [order] relaxed: a coarse clock
    return true;
  }();
  (void)done;
}

void leave_world(machine* mp) noexcept {
  stop_spinning(mp);
  mp->picked = nullptr;
  mp->locked_gp = nullptr;
  if (mp->pp != nullptr) release_p(mp);
  stop_m(mp);
}

// Inside, on the stack of a goroutine whose world has ended.
void stay_behind(machine* mp) noexcept {
  release_p(mp);
  {
    locked hold(sched.lock);
    count_lost(mp);
  }
  sleep_for_ever();
}

// Inside, on the main goroutine's stack.
void end_main(goroutine* gp) noexcept {
  if (gp->exiting) return;                           // this_goroutine::exit(): the others go on
  // [order] seq_cst: a release for find_runnable(); and sysmon and the helper say what they are at, then look
  sched.ended.store(true, seq_cst);
  for (std::uint32_t i = 0; i < sched.maxprocs.load(relaxed); ++i) {
    processor* pp = &sched.processors[i];
    pp->attention.fetch_or(attend_stop, release);
    if (machine* mp = pp->mp.load(relaxed)) mp->mark.store(1, relaxed);
  }
  poller.break_wait();
  sched.world_over.wake();
}

}  // namespace weft::inline v0::rt

namespace weft::inline v0::detail {

void run_world(const options& how, void (*entry)(void*), void* arg) {
  rt::refuse_in_forked_child();
  rt::runtime_init();
  if (rt::machine* mp = rt::this_machine(); mp != nullptr && !mp->is_foreign)
    throw std::logic_error("weft::run called from a goroutine");
  // [order] acq_rel, and release at the end: the next run() finds what this one has left
  if (rt::world_exists.exchange(true, rt::acq_rel)) throw std::logic_error("weft::run is running already");
  const std::uint32_t n = rt::processors_wanted(how);
  rt::sched.max_threads =
      static_cast<std::uint32_t>(how.max_threads > 0 ? how.max_threads : rt::current_settings().max_threads);
  rt::sched.hooks = {how.thread_start, how.thread_stop, how.thread_arg};
  rt::sanitizer::hb_release(&rt::sched.hooks);
  static const bool installed = [] {
    if (rt::ports.first_run != nullptr) rt::ports.first_run();
    rt::install_preemption();
    rt::os::outlive_broken_pipes();
    rt::install_fork_handlers();
    rt::install_exit_handlers();
    rt::start_service_threads();
    return true;
  }();
  (void)installed;

  const rt::goroutine* main = rt::begin_world(n, entry, arg);
  rt::sched.world_over.sleep();
  rt::sanitizer::hb_acquire(main);                   // what it did, its result
  rt::settle_all();
  rt::sched.running.store(false, rt::release);       // [order] release: both say that all before it is over
  rt::clear_world();
  rt::sanitizer::hb_acquire(&rt::sched.world_over);  // what the others did: they will never run again
  rt::world_exists.store(false, rt::release);
}

}  // namespace weft::inline v0::detail
