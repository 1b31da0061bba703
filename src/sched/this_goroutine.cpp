// this_goroutine.cpp — id, yield, exit; and the number of processors: the public face of the scheduler.
#include "weft/this_goroutine.hpp"

#include <algorithm>
#include <exception>

#include "sched/sched.hpp"
#include "sched/threads.hpp"
#include "weft/detail/introspect.hpp"
#include "weft/runtime.hpp"

namespace weft::inline v0 {

struct exit_access {
  static goroutine_exit make() noexcept { return {}; }
};

void rt::resume_exit(machine* mp) {
  if (std::uncaught_exceptions() != 0) return;       // a destructor parks on the way out: let it
  leave(mp);
  throw exit_access::make();
}

namespace this_goroutine {

std::uint64_t id() noexcept {
  rt::machine* mp = rt::this_machine();
  if (mp == nullptr) mp = rt::adopt_thread();
  return mp->current->id;
}

void yield() {
  rt::inside_parking in;
  rt::yield();
}

void exit() {
  {
    rt::inside in;
    if (in->current->is_thread)
      rt::fatal("runtime.Goexit called in a thread that was not created by the Go runtime");
    in->current->exiting = true;
  }
  throw exit_access::make();
}

}  // namespace this_goroutine

// [order] relaxed: a number, nothing with it
int maxprocs() noexcept { return static_cast<int>(rt::sched.maxprocs.load(rt::relaxed)); }
int num_goroutine() noexcept { return static_cast<int>(rt::live_goroutines()); }

namespace {

void resize_stopped(int n) {
  auto resize = [](void* p) {
    auto stopped = [](void* q) { rt::resize_processors(static_cast<std::uint32_t>(*static_cast<int*>(q))); };
    rt::stop_world_and_run(stopped, p);
  };
  rt::post_to_helper(resize, &n);
}

}  // namespace

int set_maxprocs(int n) {
  const int old = maxprocs();
  if (n < 1) return old;
  rt::services.follow_procs.store(false, rt::relaxed);   // [order] relaxed: a setting
  n = std::min(n, rt::most_processors);
  // [order] acquire: pairs with begin_world()
  if (n != old && rt::sched.running.load(rt::acquire)) resize_stopped(n);
  return old;
}

void set_default_maxprocs() {
  const int n = rt::os::default_maxprocs(rt::current_settings().containermaxprocs);
  // [order] acquire: pairs with begin_world(); relaxed below: a setting
  if (n != maxprocs() && rt::sched.running.load(rt::acquire)) resize_stopped(n);
  rt::services.follow_procs.store(rt::current_settings().updatemaxprocs, rt::relaxed);
}

void stop_the_world(void (*f)(void*), void* arg) {
  struct call {
    void (*f)(void*);
    void* arg;
  } c{f, arg};
  rt::post_to_helper(
      [](void* p) {
        auto* call_p = static_cast<call*>(p);
        rt::stop_world_and_run(call_p->f, call_p->arg);
      },
      &c);
}

namespace detail {

int processor_id() noexcept {
  rt::inside in;
  return in->pp != nullptr ? static_cast<int>(in->pp->id) : -1;
}

}  // namespace detail
}  // namespace weft::inline v0
