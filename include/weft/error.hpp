// error.hpp — the expected ways for an operation not to succeed, as values; and channel_closed.
#pragma once
#include <stdexcept>
#include <system_error>
#include <type_traits>

namespace weft::inline v0 {

// What a result<T> says instead of a value. As a std::error_code: category "weft"; compares equal to the
// std::errc in brackets.
enum class errc {
  closed = 1,   // the channel is closed (and, receiving, empty)          [broken_pipe]
  empty,        // nothing to receive, and the call does not wait         [resource_unavailable_try_again]
  full,         // no room and nobody receives, and the call does not wait [resource_unavailable_try_again]
  timed_out,    // the deadline passed                                    [timed_out]
  stopped,      // a stop was requested                                   [operation_canceled]
  end_of_stream,  // the other side has ended before all that was asked for
  fd_closed,    // close() came before the operation, or while it waited  [bad_file_descriptor]
};

const std::error_category& weft_category() noexcept;
inline std::error_code make_error_code(errc e) noexcept { return {static_cast<int>(e), weft_category()}; }

// Thrown by a send on a closed channel; what() is "send on closed channel".
class channel_closed : public std::logic_error {
 public:
  channel_closed();
  channel_closed(const channel_closed&) noexcept = default;
  channel_closed& operator=(const channel_closed&) noexcept = default;
  ~channel_closed() override;
};

namespace detail {
// The throwing ends, out of the way of the code that calls them.
[[noreturn]] void throw_channel_closed();
[[noreturn]] void throw_close_of_nil();      // std::logic_error "close of nil channel"
[[noreturn]] void throw_close_of_closed();   // std::logic_error "close of closed channel"
[[noreturn]] void throw_bad_chan_size();     // std::length_error "makechan: size out of range"
[[noreturn]] void throw_bad_result(errc e);  // std::system_error
[[noreturn]] void throw_too_many_cases();    // std::length_error "select: too many cases"
}  // namespace detail

}  // namespace weft::inline v0

template <>
struct std::is_error_code_enum<weft::errc> : std::true_type {};
