// backend.hpp — what the netpoller asks of the kernel; epoll.cpp answers.
//
// Contract: inline system calls only, so all of it may be called inside the runtime. Errors are negative
// errno values. One thread at a time may be in wait() with a deadline other than "now"; the rest any thread
// at any time.
#pragma once
#include <cstdint>

namespace weft::inline v0::rt::backend {

struct event {
  std::uint64_t token;   // what it was watched with
  bool read, write;      // an error or a hang-up counts as both
  bool more;   // nothing, or something urgent, comes behind the data: less than was asked for is not all
};
inline constexpr int most_events = 128;
inline constexpr std::int64_t now = 0;                // as a deadline: do not wait

inline constexpr std::uint64_t ring_token = 2;        // of an event: the io_uring has completions

bool is_started() noexcept;
int start() noexcept;                                 // once; 0
// Tells of every change from "not ready" to "ready", in both directions, until it is forgotten.
int watch(int fd, std::uint64_t token) noexcept;      // -EPERM: always ready, as files are
// Tells once, of one direction; also if it is ready now.
int watch_once(int fd, std::uint64_t token, bool write) noexcept;
void forget(int fd) noexcept;
int watch_ring(int fd) noexcept;
// What has happened since it was last told; sleeps until there is something, wake(), or `deadline`. How many.
int wait(event (&into)[most_events], std::int64_t deadline) noexcept;
void wake() noexcept;                                 // the thread in wait(), or else the next one there

}  // namespace weft::inline v0::rt::backend
