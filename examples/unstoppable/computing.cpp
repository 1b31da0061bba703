// computing.cpp — code that computes: it never waits, and calls nothing that would ask it to stop.
#include <pthread.h>
#include <signal.h>

#include <chrono>
#include <cstdint>
#include <regex>
#include <stdexcept>
#include <string>

#include "alarm.hpp"
#include "storm.hpp"
#include "unstoppable.hpp"
#include "weft/weft.hpp"

namespace unstoppable {

using namespace std::chrono_literals;

namespace {

volatile std::uint64_t counter = 0;

void count_until(const alarm& end) {
  while (!end.rings()) counter = counter + 1;
}

// While one exists, the thread takes no SIGURG.
class without_sigurg {
 public:
  without_sigurg() {
    sigset_t urgent;
    sigemptyset(&urgent);
    sigaddset(&urgent, SIGURG);
    pthread_sigmask(SIG_BLOCK, &urgent, &before_);
  }
  ~without_sigurg() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  without_sigurg(const without_sigurg&) = delete;
  without_sigurg& operator=(const without_sigurg&) = delete;

 private:
  sigset_t before_;
};

}  // namespace

void loop() {
  const alarm end;
  count_until(end);
}

void loop_without_signals() {
  const alarm end;                 // before the mask, which its thread would inherit
  const weft::thread_lock lock;    // the mask is the thread's
  const without_sigurg mask;
  count_until(end);
}

void malloc_storm() {
  const alarm end;
  storm(64, end).wait();
}

// Each further letter doubles the time of a match that fails; it grows until one takes long on this machine.
void regex() {
  const alarm end;
  const std::regex pattern("(a+)+b");
  std::string text(16, 'a');
  while (!end.rings()) {
    const auto start = std::chrono::steady_clock::now();
    if (std::regex_match(text, pattern)) throw std::runtime_error("a match that cannot be");
    if (std::chrono::steady_clock::now() - start < 150ms) text += 'a';
  }
}

}  // namespace unstoppable
