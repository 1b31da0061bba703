// error.cpp — the error category and the exceptions of channels, with Go's texts.
#include "weft/error.hpp"

#include <string>

namespace weft::inline v0 {
namespace {

class category final : public std::error_category {
 public:
  const char* name() const noexcept override { return "weft"; }
  std::string message(int code) const override {
    switch (static_cast<errc>(code)) {
      case errc::closed: return "channel closed";
      case errc::empty: return "channel empty";
      case errc::full: return "channel full";
      case errc::timed_out: return "timed out";
      case errc::stopped: return "stop requested";
      case errc::end_of_stream: return "unexpected end of stream";
      case errc::fd_closed: return "use of closed descriptor";
    }
    return "unknown error";
  }
  std::error_condition default_error_condition(int code) const noexcept override {
    switch (static_cast<errc>(code)) {
      case errc::closed: return std::errc::broken_pipe;
      case errc::empty:
      case errc::full: return std::errc::resource_unavailable_try_again;
      case errc::timed_out: return std::errc::timed_out;
      case errc::stopped: return std::errc::operation_canceled;
      case errc::fd_closed: return std::errc::bad_file_descriptor;
      case errc::end_of_stream: break;
    }
    return std::error_condition(code, *this);
  }
};

}  // namespace

const std::error_category& weft_category() noexcept {
  static const category the_one;
  return the_one;
}

channel_closed::channel_closed() : std::logic_error("send on closed channel") {}
channel_closed::~channel_closed() = default;

namespace detail {

void throw_channel_closed() { throw channel_closed(); }
void throw_close_of_nil() { throw std::logic_error("close of nil channel"); }
void throw_close_of_closed() { throw std::logic_error("close of closed channel"); }
void throw_bad_chan_size() { throw std::length_error("makechan: size out of range"); }
void throw_bad_result(errc e) { throw std::system_error(make_error_code(e)); }
void throw_too_many_cases() { throw std::length_error("select: too many cases"); }

}  // namespace detail
}  // namespace weft::inline v0
