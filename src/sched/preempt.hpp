// preempt.hpp — who has had a P for too long: sysmon's half, in three files.
//
//   preempt.cpp   a slice is over: the mark, the signal, the claim; the signal's handler
//   retake.cpp    an M is blocked in foreign code: the claim
//   strays.cpp    Ms whose P was claimed
// Only sysmon calls these, but for may_interrupt(), thread_is_late() and report_stray().
#pragma once
#include "sched/sched.hpp"

namespace weft::inline v0::rt {

// ---- preempt.cpp ----
void install_preemption() noexcept;            // outside, at the first run()
bool may_interrupt() noexcept;                 // signals are sent
bool interrupt(machine* mp, stay_outside& stay, std::int64_t now) noexcept;   // false: it has gone on
enum class progress { none, calls, switches };  // since the last look; none: outside all the time
struct outcome {
  bool did;                                    // there is more to come soon
  std::int64_t next_look;                      // look again then, if sysmon would sleep longer
  bool took = false;                           // the P: who gets it may not stop either
};
outcome preempt(processor* pp, std::int64_t now, progress made) noexcept;

bool look_at_template(std::int64_t now) noexcept;      // true: slices are short for now
// Under lock: the thread that was asked for does not come. It is refused, or pthread_create takes its time.
bool thread_is_late(std::int64_t now) noexcept;

// ---- retake.cpp ----
bool meet_again(processor* pp, std::int64_t now) noexcept;   // its M is outside as at the last look
enum class retaken { no, look_again, yes };
retaken retake(processor* pp, std::int64_t now) noexcept;    // the same stay; look again: in a moment
bool take_for_good(machine* mp, std::uint64_t gate, bool thread_first) noexcept;   // claim, and hand on

// ---- strays.cpp ----
void note_stray(machine* mp, std::uint64_t gate) noexcept;
std::int64_t look_at_strays(std::int64_t now) noexcept;      // when to look again
void report_stray(machine* mp) noexcept;       // inside, the M itself: it goes on without the P that it had

}  // namespace weft::inline v0::rt
