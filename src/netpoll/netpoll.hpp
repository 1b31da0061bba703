// netpoll.hpp — the poller behind sched's poll_port: descriptors go in here, ready goroutines come out.
#pragma once
#include "netpoll/poll_desc.hpp"

namespace weft::inline v0::rt {

// Outside. The descriptor is the poll_desc's from now on; it is non-blocking already. Null: `error` is a
// negative errno, and the descriptor still the caller's.
poll_desc* netpoll_open(int fd, int& error) noexcept;

int netpoll_start() noexcept;                        // outside; once or more. 0, or a negative errno

// Goroutines of this world that are parked for the kernel, or have just been woken: each counts itself in and
// out.
void netpoll_count(std::int32_t more) noexcept;

}  // namespace weft::inline v0::rt
