// threads.cpp — where Ms come from: asked for under sched.lock, made by the template thread, within a limit.
//
//   request_thread()        threads_coming +1, template thread woken
//   template thread         pthread_create; it alone may wait for libc's locks. When the kernel refuses, it
//                           tries again: the work stays queued and the Ms that exist go on with it
//   the new M               threads_coming -1; takes an idle P as a spinner, or joins the idle list
#include "sched/threads.hpp"

#include <signal.h>

#include "base/print.hpp"
#include "os/os.hpp"

namespace weft::inline v0::rt {
namespace {

note template_note;
std::uint32_t to_start = 0;                          // under sched.lock
atomic<std::uint32_t> service_count{0};
sigset_t mask_of_run;                                // Ms get it; the template thread itself blocks all

constexpr std::int64_t retry_ns = 10'000'000;

[[noreturn]] void thread_limit_reached() noexcept {
  begin_fatal();
  printer() << "runtime: program exceeds " << sched.max_threads << "-thread limit\n"
            << "fatal error: thread exhaustion\n";
  finish_fatal(2);
}

void machine_main(void* record) noexcept {
  auto* mp = static_cast<machine*>(record);
  set_this_machine(mp);
  mp->thread_id = os::thread_id();
  mp->home = find_carried_home();
  os::set_timer_slack(1);
  install_alternate_stack();
  pthread_sigmask(SIG_SETMASK, &mask_of_run, nullptr);
  sanitizer::adopt_thread(mp->g0_fibre);
  {
    locked hold(sched.lock);
    --sched.threads_coming;
    ++sched.machine_count;
    mp->gate.enter();
    // [order] relaxed: missed here, it is seen by find_runnable()
    if (processor* pp = sched.ended.load(relaxed) ? nullptr : idle_get_p()) {
      acquire_p_as_spinner(mp, pp);
    } else {
      begin_settling(mp);
    }
  }
  schedule(mp);                                      // returns when the thread is spoilt (lock_thread.cpp)
  {
    locked hold(sched.lock);
    --sched.machine_count;
    check_dead();
  }
  mp->gate.leave();
  mp->thread_id = 0;
  remove_alternate_stack();
  set_this_machine(nullptr);
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

// True when started or no longer wanted; false: the kernel refuses.
bool start_machine() noexcept {
  static bool told = false;
  machine* mp = new_machine();
  int error = -12;                                   // ENOMEM
  if (mp != nullptr) {
    char name[16];
    name_machine(name, mp->id);
    services.creating.store(os::thread_id(), relaxed);       // [order] relaxed, both: a hint for sysmon
    error = os::start_thread(name, machine_main, mp, false);
    services.creating.store(0, relaxed);
    if (error == 0) return true;
    free_machine(mp);
  }
  if (!told) {
    told = true;
    printer() << "weft: cannot start thread " << sched.machine_count + 1 << " (errno " << -error
              << "); going on with the threads there are, and trying again\n";
  }
  return false;
}

}  // namespace

constinit service_state services;

void request_thread() noexcept {
  const std::uint32_t idle = sched.idle.look().idle_processors();
  if (sched.threads_coming >= (idle > 0 ? idle : 1)) return;
  if (sched.machine_count + sched.threads_coming >= sched.max_threads) thread_limit_reached();
  ++sched.threads_coming;
  ++to_start;
  template_note.wake();
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
    if (int error = os::start_thread(s.name, s.main, nullptr, true); error != 0) {
      begin_fatal();
      printer() << "runtime: cannot start the thread " << s.name << " (errno " << -error << ")\n"
                << "fatal error: newosproc\n";
      finish_fatal(2);
    }
    service_count.fetch_add(1, relaxed);             // [order] relaxed: a count
  }
}

}  // namespace weft::inline v0::rt
