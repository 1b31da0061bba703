// event.hpp — the event port: one call at every place that the execution trace and the profiles want to know.
//
// Null until an observer installs a sink; then `emit` is one load and one predictable branch. Sinks run
// inside the runtime: no malloc, no lock that user code can hold.
#pragma once
#include <cstdint>

#include "base/atomic.hpp"
#include "event/wait_reason.hpp"

namespace weft::inline v0::rt {

enum class event : std::uint8_t {
  goroutine_create,     // id of the new one
  goroutine_start,      // id: its first turn, on the P that emits
  goroutine_end,        // id
  goroutine_block,      // id, wait reason
  goroutine_unblock,    // id of the woken one
  goroutine_yield,      // id
  goroutine_preempt,    // id
  processor_start,      // P id
  processor_stop,       // P id
  processor_retake,     // P id: its M was blocked outside
  steal,                // victim's P id, how many
  world_stop_begin,     // -
  world_stop_end,       // -
  maxprocs,             // new value
};

using event_sink = void (*)(event what, std::uint64_t subject, std::uint64_t detail) noexcept;

// [order] acquire/release: the sink's own data is set up before it is installed.
extern atomic<event_sink> installed_sink;

inline void emit(event what, std::uint64_t subject = 0, std::uint64_t detail = 0) noexcept {
  if (event_sink sink = installed_sink.load(acquire)) [[unlikely]] sink(what, subject, detail);
}

}  // namespace weft::inline v0::rt
