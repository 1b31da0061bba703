// workloads.hpp — what weft-bench can measure: one function a workload, by theme, and a table over all.
//
// The work is that of bench/peers/README.md, with the same counts and the same structure as the peers'
// programs. Each workload runs in the main goroutine of a world of its own and prints its line with report().
#pragma once
#include <span>

namespace bench {

enum class kind {
  standard,   // bench/peers/README.md: what runs without a NAME
  tuning,     // ours alone, by name only
};

struct workload {
  const char* name;
  kind what;
  const char* about;
  void (*run)();
};
std::span<const workload> all() noexcept;

// spawn.cpp
void spawn();
void spawn_join();
void yield_1();
void yield_2();
void yield_1000();
// channels.cpp
void chan_pingpong();
void chan_buffered();
void chan_mpmc();
void select_pingpong();
void ring_1000();
// trees.cpp
void skynet_1m();
void fib_25();
void sieve_1000();
// locks.cpp
void mutex_16();
void mutex_1();
void chan_local();
void select_local();
// time.cpp
void timers_100k();
void idle_handoff();
void idle_cpu();
void sleepers_1m();
// blocking.cpp
void syscall_short();
void announced_call();
void blocking_64();
void locked_pingpong();
// loops.cpp
void preempt_ticker();
void compute_64();
// net.cpp
void tcp_echo_100();
// memory.cpp
void mem_1m();

}  // namespace bench
