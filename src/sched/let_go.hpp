// let_go.hpp — threads that the signal has stopped go on without a P: at an exit, and as the last resort.
#pragma once
#include "sched/sched.hpp"

namespace weft::inline v0::rt {

extern constinit atomic<bool> exiting;               // exit() has begun (exit.cpp)

bool let_go_stopped() noexcept;                      // sysmon; true: there were some

// ---- watchdog.cpp ----
bool stands_still() noexcept;                        // an incident lasts, and threads have been let go
bool watch(std::int64_t now) noexcept;               // sysmon, each round; true: look again soon
void tell_of_standstill() noexcept;                  // helper

}  // namespace weft::inline v0::rt
