// stream.hpp — reading and writing bytes, for every kind of stream on a descriptor.
#pragma once
#include "net/io.hpp"
#include "weft/detail/byte_stream.hpp"

namespace weft::inline v0::rt {

enum class stream_kind : std::uint8_t {
  any,      // read(2) and write(2). Less than was asked for is not all: a terminal gives a line at a time
  socket,   // a connection: less than was asked for is all there was. Its writes raise no SIGPIPE
};

// `d` null or closed: errc::fd_closed.
std::size_t read_stream(poll_desc* d, detail::bytes into, const detail::wait_limits& limits,
                        std::error_code& ec, stream_kind kind);
std::size_t write_stream(poll_desc* d, detail::const_bytes from, const detail::wait_limits& limits,
                         std::error_code& ec, stream_kind kind);
std::size_t write_whole(poll_desc* d, detail::const_bytes from, const detail::wait_limits& limits,
                        std::error_code& ec, stream_kind kind);

}  // namespace weft::inline v0::rt
