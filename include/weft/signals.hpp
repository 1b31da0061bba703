// signals.hpp — signals of the process as values that a goroutine receives.
#pragma once
#include <bitset>
#include <initializer_list>
#include <memory>
#include <stop_token>

#include "weft/chan.hpp"
#include "weft/fd.hpp"

namespace weft::inline v0 {

// While one exists, the signals it names do not do what they usually do, but can be waited for here. Several
// may name the same signal: each gets it. With the last one the signal gets its former handler back. None of
// those that a fault in the program raises (SIGSEGV, ...), of SIGKILL and SIGSTOP, or SIGURG, which ends
// slices.
class signals {
 public:
  // Throws std::system_error: invalid_argument for a signal as above, or no descriptor is left.
  signals(std::initializer_list<int> numbers);
  ~signals();
  signals(const signals&) = delete;
  signals& operator=(const signals&) = delete;

  // Parks until one comes: its number. Those that came since the last call come first, in order; if very many
  // (64 Ki) have, the newest are lost. Throws std::system_error: errc::stopped.
  int wait(std::stop_token stop = {});

  // A channel of them, for select: a goroutine passes them on, so they do not come to wait() any more. It is
  // closed when this object goes.
  chan<int> channel();

 private:
  void unsubscribe() noexcept;
  std::shared_ptr<fd> came_;                         // a byte for each
  int write_end_ = -1;
  std::bitset<65> wanted_;
};

}  // namespace weft::inline v0
