// spin.hpp — whether to spin for a lock, a few hundred nanoseconds, before the goroutine parks. Go's rule.
#pragma once
#include "os/linux/pause.hpp"
#include "os/os.hpp"
#include "sched/sched.hpp"

namespace weft::inline v0::rt {

class spinner {
 public:
  // Inside. One round if spinning can help: the holder may be running on another CPU, and nobody here waits
  // for ours.
  bool once() noexcept {
    if (rounds_ == rounds_max || !is_worth_it()) return false;
    ++rounds_;
    os::cpu_pause(pauses_a_round);
    return true;
  }
  void reset() noexcept { rounds_ = 0; }

 private:
  static constexpr int rounds_max = 4, pauses_a_round = 30;

  static bool is_worth_it() noexcept {
    const processor* pp = this_machine()->pp;
    if (pp && !pp->queue.empty()) return false;
    const idle_word::counts c = sched.idle.look();
    // [order] relaxed: advice only. Some other P must be running something.
    const std::uint32_t busy_or_ours = c.idle_processors() + c.spinning() + (pp ? 1 : 0);
    return sched.maxprocs.load(relaxed) > busy_or_ours && os::several_cpus();
  }

  int rounds_ = 0;
};

}  // namespace weft::inline v0::rt
