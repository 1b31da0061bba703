// uring.hpp — calls that the kernel carries out while the goroutine is parked: one io_uring for the process.
//
// For files: epoll knows nothing of them. Its completions are told of by the poller, as edges of sockets are.
#pragma once
#include <linux/io_uring.h>

#include <cstdint>

#include "sched/ready_batch.hpp"

namespace weft::inline v0::rt {

// Outside, on a goroutine. Parks until the call is done; false: there is no io_uring, or no room in it just
// now, and nothing has been done. `result` is what the system call would return, negative for an error.
bool uring_call(const io_uring_sqe& what, std::int32_t& result);

bool uring_works() noexcept;                         // outside; asked of the kernel once
void uring_harvest(ready_batch& out) noexcept;       // inside; the poller

}  // namespace weft::inline v0::rt
