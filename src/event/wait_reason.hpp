// wait_reason.hpp — why a goroutine is parked: one enum for dumps, traces and the block profile.
//
// The texts are Go's, so that tools and people that know Go's dumps can read ours.
#pragma once
#include <cstdint>
#include <string_view>

namespace weft::inline v0::rt {

enum class wait_reason : std::uint8_t {
  none,
  io_wait,
  sleep,
  chan_receive_nil,
  chan_send_nil,
  select_no_cases,
  select,
  chan_receive,
  chan_send,
  cond_wait,
  mutex_lock,
  shared_mutex_lock_shared,
  shared_mutex_lock,
  semaphore_acquire,
  wait_group_wait,
  latch_wait,
  barrier_wait,
  once_wait,
  join,
  stop_the_world,      // asked for it, waits for it to be done
  preempted,
};

constexpr std::string_view to_text(wait_reason reason) noexcept {
  constexpr std::string_view texts[] = {
      "",                    "IO wait",             "sleep",             "chan receive (nil chan)",
      "chan send (nil chan)", "select (no cases)",  "select",            "chan receive",
      "chan send",           "sync.Cond.Wait",      "sync.Mutex.Lock",   "sync.RWMutex.RLock",
      "sync.RWMutex.Lock",   "semacquire",          "sync.WaitGroup.Wait", "latch wait",
      "barrier wait",        "once wait",           "join",              "stopping the world",
      "preempted"};
  return texts[static_cast<std::uint8_t>(reason)];
}

}  // namespace weft::inline v0::rt
