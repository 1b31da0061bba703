// threads.hpp — the runtime's threads that run no goroutines, and what they share.
//
//   template thread   makes Ms: it has no state to hand down and may wait for libc's locks
//   sysmon            decides (sysmon.cpp)
//   helper            writes, trims, resizes, stops the world (helper.cpp)
// All three block all signals.
#pragma once
#include "sched/sched.hpp"

namespace weft::inline v0::rt {

std::uint32_t service_threads() noexcept;            // how many of them run
void adopt_service_thread() noexcept;                // gives one its M record; it is then counted
void template_main(void*) noexcept;
void sysmon_main(void*) noexcept;
void helper_main(void*) noexcept;

// Tells Ms that nobody has needed for 5 s to end; sysmon. When to look again; forever: all are needed.
std::int64_t end_idle_machines(std::int64_t now) noexcept;
// Sleeps in the poller, if no M does or will soon; sysmon. False: somebody does, or nobody waits for the
// kernel.
bool stand_by(std::int64_t now, std::int64_t until, ready_batch& out) noexcept;
bool interrupt_machine(machine* mp) noexcept;        // false: it has no thread, or too many signals wait

// What sysmon and helper agree on.
struct service_state {
  atomic<bool> follow_procs{false};                  // maxprocs follows affinity and cgroups
  atomic<bool> scavenge_left{false};                 // the last scavenge found something to give back
  atomic<bool> trim_later{false};                    // some stacks may be trimmed in a few seconds
  atomic<std::int32_t> creating{0};                  // the template thread's id while it is in pthread_create
};
extern constinit service_state services;

}  // namespace weft::inline v0::rt
