// ports.hpp — the calls that go up: each null until a higher floor installs itself, each legal to be null.
#pragma once
#include "sched/goroutine.hpp"

namespace weft::inline v0::rt {

struct scheduler_ports {
  // observe: one schedtrace line (or its detailed form) on stderr. Called on the helper thread.
  void (*print_schedtrace)(bool detail) noexcept = nullptr;
  // observe: lines about calls that have blocked threads (block_warning.hpp). Called on the helper thread.
  void (*print_block_warnings)() noexcept = nullptr;
  // observe: a dump wants this M's stack (machine::stack_wanted). On its thread, in the signal handler or
  // where it waits for a P.
  void (*show_stack)(machine* mp, const void* context) noexcept = nullptr;
  // task: destroy the goroutine's locals. Outside, on the goroutine itself, after its closure has returned.
  void (*end_goroutine)(goroutine* gp) noexcept = nullptr;
  // observe: installs handlers and everything else it needs; once, at the first run(), outside.
  void (*first_run)() noexcept = nullptr;
};

// Defined in observe/install.cpp with what that floor has; so whoever links the static library gets it.
extern constinit scheduler_ports ports;

// The poller: who finds what the kernel has made ready, and sleeps until then. Defined in
// netpoll/netpoll.cpp.
struct poll_port {
  // Waits until `deadline` or break_wait(); returns with what has become ready in `out`.
  void (*wait)(std::int64_t deadline, ready_batch& out) noexcept;
  void (*break_wait)() noexcept;                 // also when nobody waits: the next wait returns at once
  void (*look)(ready_batch& out) noexcept;       // without waiting
  bool (*has_waiters)() noexcept;                // some goroutine waits for the kernel
  void (*world_ended)() noexcept;                // those that do never run again
};
extern constinit poll_port poller;

}  // namespace weft::inline v0::rt
