// process.hpp — child processes: start one, speak with it through pipes, wait for its end without a thread.
#pragma once
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <stop_token>
#include <string>
#include <system_error>
#include <vector>

#include "weft/error.hpp"
#include "weft/fd.hpp"

namespace weft::inline v0 {

// How a process ended.
struct exit_status {
  int code = 0;          // what it returned or gave exit(); 0 if a signal ended it
  int signal = 0;        // that ended it; 0: none
  bool success() const noexcept { return code == 0 && signal == 0; }
};

enum class child_stream : std::uint8_t {
  inherit,   // ours
  null,      // nothing to read, and what is written is lost
  pipe,      // an end of it is here
  to_out,    // for err: where out goes
};

struct process_options {
  std::vector<std::string> arguments = {};           // without the program's name
  std::optional<std::vector<std::string>> environment = std::nullopt;   // "NAME=value"; none: ours
  std::filesystem::path directory = {};              // empty: ours
  child_stream in = child_stream::inherit, out = child_stream::inherit, err = child_stream::inherit;
};

class process {
 public:
  process() noexcept = default;
  process(process&& other) noexcept { swap(other); }
  process& operator=(process&& other) noexcept {
    swap(other);
    return *this;
  }
  // Of one that has not been waited for: kills it (SIGKILL) and takes its end away, which blocks for a
  // moment.
  ~process();

  // Starts `program`, looked for in PATH if it has no slash. Its signals are all at their defaults and none
  // is blocked; it gets no descriptors but the three. Does not park. Throws std::system_error, also when
  // there is no such program.
  static process start(const std::string& program, const process_options& how = {});

  // The ends of pipes, for streams of that kind; else they are not open. Close `in` for it to read the end.
  fd in, out, err;

  int id() const noexcept { return id_; }            // 0: none, or it has been waited for

  // Park until it has ended; once. Throw std::system_error: errc::stopped, or there is none.
  exit_status wait(std::stop_token stop = {}) {
    return detail::or_throw("wait", [&](std::error_code& ec) {
      return wait_within({detail::never, &stop}, ec);
    });
  }
  exit_status wait(std::error_code& ec, std::stop_token stop = {}) {
    return wait_within({detail::never, &stop}, ec);
  }
  // Nothing: it has not ended by then.
  template <class Rep, class Period>
  std::optional<exit_status> wait_for(const std::chrono::duration<Rep, Period>& d) {
    std::error_code ec;
    const exit_status status = wait_within({detail::deadline_after(d), nullptr}, ec);
    if (ec == errc::timed_out) return std::nullopt;
    detail::throw_if(ec, "wait");
    return status;
  }
  void kill(int signal);                             // does not park; throws std::system_error

 private:
  void swap(process& other) noexcept;
  exit_status wait_within(const detail::wait_limits& limits, std::error_code& ec);

  int id_ = 0;
  int handle_ = -1;                                  // a pidfd
};

}  // namespace weft::inline v0
