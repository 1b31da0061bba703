// net_test.hpp — what the tests of descriptors and sockets share.
#pragma once
#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "event/wait_reason.hpp"
#include "sched/sched.hpp"
#include "weft/runtime.hpp"
#include "weft/this_goroutine.hpp"

namespace weft_test {

inline std::span<const std::byte> bytes_of(std::string_view text) { return std::as_bytes(std::span(text)); }
template <std::size_t n>
std::span<std::byte> room_in(char (&buffer)[n]) { return std::as_writable_bytes(std::span(buffer)); }
inline std::string text_of(const char* buffer, std::size_t n) { return {buffer, n}; }

// Until so many goroutines are parked for the kernel.
inline void wait_until_parked(int wanted) {
  namespace rt = weft::rt;
  for (int parked = 0; parked < wanted; weft::this_goroutine::yield()) {
    parked = 0;
    rt::inside in;
    rt::for_each_goroutine(
        [](rt::goroutine* gp, void* count) {
          if (gp->status.load(rt::relaxed) == rt::g_status::waiting &&
              gp->reason.load(rt::relaxed) == rt::wait_reason::io_wait)
            ++*static_cast<int*>(count);
        },
        &parked);
  }
}

}  // namespace weft_test
