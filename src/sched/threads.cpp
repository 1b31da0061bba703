// threads.cpp — where Ms come from and go to: asked for under sched.lock, made by the template thread, within
// a limit; they end when nobody needs them.
//
//   request_thread()        threads_coming +1, template thread woken. At the limit nothing happens: the Ms
//                           that exist go on. If none can, since all are blocked in calls or locked to
//                           goroutines that wait, and there is work: Go's fatal error (start_m)
//   template thread         pthread_create; it alone may wait for libc's locks. When the kernel refuses, it
//                           tries again: the work stays queued and the Ms that exist go on with it. If there
//                           is none for 5 s: fatal
//   the new M               threads_coming -1; takes an idle P as a spinner, or joins the idle list.
//                           options.thread_start before it is one, a plain thread to Weft
//   end_idle_machines()     sysmon: Ms that have lain in the idle list for long, beyond need, are told to go
//   the end of an M         no thread id; options.thread_stop, a plain thread again; out of machine_count;
//                           the record goes to the next M
//
// Who takes an M out of the idle list, under sched.lock, and he alone, says what it does next: start_m leaves
// it a P, end_idle_machines sets `not_needed`. So an M that ends has no P, nobody will give it one, and
// who wakes with a P need not look. It is in no other list: an M in the idle list waits for nothing else.
//
// The bottom of the idle list, a LIFO, has lain there longest. idle_ms_least is the least that the list has
// held in the last 5 s: so many, at the bottom, have not been needed since. No clock is read for that.
//
// A record without a thread has id 0. It is read without the lock, but for a signal (interrupt_machine): the
// kernel may give the id to another thread, which would see an EINTR that nobody owes it.
#include "sched/threads.hpp"

#include <signal.h>

#include <algorithm>

#include "base/print.hpp"
#include "os/os.hpp"
#include "sched/exit.hpp"
#include "sched/fork.hpp"

namespace weft::inline v0::rt {
namespace {

note template_note;
std::uint32_t to_start = 0;                          // under sched.lock
atomic<std::uint32_t> service_count{0};
sigset_t mask_of_run;                                // Ms get it; the template thread itself blocks all

constexpr std::int64_t retry_ns = 10'000'000;
constexpr std::int64_t alone_patience = 5'000'000'000;  // without any M, while the kernel refuses one
constexpr std::int64_t idle_patience = 5'000'000'000;   // the idle Ms beyond need are as many as 5 s long
constexpr std::int64_t end_pause = 20'000'000;       // many end in groups of some, with this pause
constexpr std::size_t most_ending = 32;
constexpr std::size_t idle_reserve = 2;              // beside one for each P

ranked_lock<lock_rank::leaf> ids_lock;               // ids of threads that exist, for who sends them a signal

// As on a plain thread. It may have been one for Weft meanwhile.
void call_hook(void (*f)(void*), void* arg) noexcept {
  if (f == nullptr) return;
  f(arg);
  forget_this_thread();
}

// With an idle P, or about to go idle.
void join_machines(machine* mp) noexcept {
  set_this_machine(mp);
  mp->thread_id = os::thread_id();
  mp->home = find_carried_home();
  watch_end_of_machine(mp);
  sanitizer::adopt_thread(mp->g0_fibre);
  sanitizer::hb_release(&mp->home);
  locked hold(sched.lock);
  --sched.threads_coming;
  sched.coming_since = os::nanotime();
  sched.last_held_back = 0;                          // another hold
  sched.rested_in_vain = false;
  ++sched.machine_count;
  mp->gate.enter();
  // [order] relaxed: missed here, it is seen by find_runnable()
  if (processor* pp = sched.ended.load(relaxed) ? nullptr : idle_get_p())
    acquire_p_as_spinner(mp, pp);
  else
    begin_settling(mp);
}

void leave_machines(machine* mp, std::int32_t id) noexcept {
  set_this_machine(mp);
  mp->gate.enter();
  {
    locked hold(sched.lock);
    --sched.machine_count;
    --sched.threads_ending;
    note_thread_end(id);
    check_dead();
  }
  mp->gate.leave();
  watch_end_of_machine(nullptr);
  set_this_machine(nullptr);
}

void machine_main(void* record) noexcept {
  auto* mp = static_cast<machine*>(record);
  os::set_timer_slack(1);
  install_alternate_stack();
  pthread_sigmask(SIG_SETMASK, &mask_of_run, nullptr);
  const scheduler::thread_hooks hooks = sched.hooks; // the next run() may have others when this thread ends
  sanitizer::hb_acquire(&sched.hooks);
  call_hook(hooks.start, hooks.arg);
  join_machines(mp);
  const std::int32_t id = mp->thread_id;
  schedule(mp);                                      // returns when the thread ends
  {
    locked hold(ids_lock);
    mp->thread_id = 0;
  }
  mp->gate.leave();
  set_this_machine(nullptr);
  call_hook(hooks.stop, hooks.arg);                  // counted still: no deadlock is seen meanwhile
  leave_machines(mp, id);
  remove_alternate_stack();
  free_machine(mp);
}

void name_machine(char (&name)[16], std::uint32_t id) noexcept {
  char digits[12];
  int n = 0;
  do digits[n++] = static_cast<char>('0' + id % 10);
  while ((id /= 10) != 0);
  const char prefix[] = "weft-M";
  int k = 0;
  for (; prefix[k] != 0; ++k) name[k] = prefix[k];
  while (n > 0) name[k++] = digits[--n];
  name[k] = 0;
}

[[noreturn]] void cannot_start(int error) noexcept {
  begin_fatal();
  printer() << "runtime: failed to create new OS thread (have " << sched.machine_count + service_threads()
            << " already; errno=" << -error << ")\n"
            << "fatal error: newosproc\n";
  finish_fatal(2);
}

// The kernel refuses a thread. Dies when there is none to go on with for long.
void note_refusal(int error) noexcept {
  static bool told = false;
  static std::int64_t alone_since = 0;
  std::uint32_t count;
  {
    locked hold(sched.lock);
    count = sched.machine_count;
  }
  const std::int64_t now = os::nanotime();
  if (count != 0 || sched.ended.load(relaxed))       // [order] relaxed: a hint, looked at again
    alone_since = 0;
  else if (alone_since == 0)
    alone_since = now;
  else if (now - alone_since > alone_patience)
    cannot_start(error);
  if (told) return;
  told = true;
  printer() << "weft: cannot start thread " << count + 1 << " (errno " << -error
            << "); going on with the threads there are, and trying again\n";
}

// False: the kernel refuses.
bool start_machine() noexcept {
  machine* mp = new_machine(false);
  int error = -12;                                   // ENOMEM
  if (mp != nullptr) {
    char name[16];
    name_machine(name, mp->id);
    services.creating.store(os::thread_id(), relaxed);       // [order] relaxed, both: a hint for sysmon
    begin_creation();
    error = os::start_thread(name, machine_main, mp, false);
    end_creation();
    services.creating.store(0, relaxed);
    if (error == 0) return true;
    free_machine(mp);
  }
  note_refusal(error);
  return false;
}

}  // namespace

constinit service_state services;

void request_thread() noexcept {
  const std::uint32_t idle = sched.idle.look().idle_processors();
  if (sched.threads_coming >= (idle > 0 ? idle : 1)) return;
  if (sched.machine_count - sched.threads_ending + sched.threads_coming >= sched.max_threads) return;
  if (sched.threads_coming++ == 0) sched.coming_since = os::nanotime();
  ++to_start;
  template_note.wake();
}

void withdraw_requests() noexcept {
  sched.threads_coming -= to_start;
  to_start = 0;
}

void thread_limit_reached() noexcept {
  begin_fatal();
  printer() << "runtime: program exceeds " << sched.max_threads << "-thread limit\n"
            << "fatal error: thread exhaustion\n";
  finish_fatal(2);
}

bool interrupt_machine(machine* mp) noexcept {
  locked hold(ids_lock);
  return mp->thread_id != 0 && os::interrupt_thread(mp->thread_id);
}

std::int64_t end_idle_machines(std::int64_t now) noexcept {
  static std::int64_t begin = 0;                     // of the time that idle_ms_least is about; 0: none
  machine* ending[most_ending];
  std::size_t n = 0, surplus = 0;
  {
    locked hold(sched.lock);
    const std::size_t here = sched.idle_ms.size();
    const std::size_t kept = sched.maxprocs.load(relaxed) + idle_reserve;   // [order] relaxed: a number
    if (begin != 0 && now - begin >= idle_patience && sched.idle_ms_least > kept)
      surplus = sched.idle_ms_least - kept;
    if (surplus == 0 && (begin == 0 || now - begin >= idle_patience)) {     // the next 5 s
      begin = here + sched.settling > kept ? now : 0;
      sched.idle_ms_least = here;
    }
    if (surplus == 0) return begin == 0 ? os::forever : begin + idle_patience;
    n = std::min(surplus, most_ending);
    sched.idle_ms.take_below(std::max(kept, here - sched.idle_ms_least), ending, n);
    sched.idle_ms_least -= n;
    for (std::size_t i = 0; i < n; ++i) {
      ending[i]->on_idle_list = false;
      ending[i]->not_needed.store(true, release);    // [order] release: pairs with stop_m()
    }
  }
  // It may have ended already, and another thread have the record: that one looks what it was woken for.
  for (std::size_t i = 0; i < n; ++i) ending[i]->park_note.wake();
  return now + end_pause;
}

void template_main(void*) noexcept {
  adopt_service_thread();
  bool refused = false;
  for (;;) {
    template_note.sleep(refused ? os::nanotime() + retry_ns : os::forever);
    for (refused = false; !refused;) {
      {
        locked hold(sched.lock);
        if (to_start == 0) break;
        --to_start;
      }
      if (!start_machine()) {
        refused = true;
        locked hold(sched.lock);
        ++to_start;
      }
    }
  }
}

std::uint32_t service_threads() noexcept { return service_count.load(relaxed); }   // [order] relaxed: a count

void adopt_service_thread() noexcept {
  adopt_thread();
  this_machine()->is_service = true;
}

void start_service_threads() noexcept {
  pthread_sigmask(SIG_SETMASK, nullptr, &mask_of_run);
  struct service { const char* name; void (*main)(void*); };
  const service all[] = {{"weft-template", [](void* p) { template_main(p); }},
                         {"weft-sysmon", [](void* p) { sysmon_main(p); }},
                         {"weft-helper", [](void* p) { helper_main(p); }}};
  for (const service& s : all) {
    constexpr int tries = 20;                        // a refusal may pass; Go is as patient
    int error;
    for (int i = 1; (error = os::start_thread(s.name, s.main, nullptr, true)) != 0; ++i) {
      if (i == tries) cannot_start(error);
      os::sleep_ns(i * 1'000'000);
    }
    service_count.fetch_add(1, relaxed);             // [order] relaxed: a count
  }
}

}  // namespace weft::inline v0::rt
