// weft_test.cpp — the watchdog.
#include "weft_test.hpp"

#include <csignal>
#include <cstring>
#include <sched.h>
#include <unistd.h>

#include "base/check.hpp"

namespace weft_test {
namespace {

std::atomic<const char*> watched{nullptr};

void bark(int) {
  const char* what = watched.load();
  auto say = [](const char* text) { [[maybe_unused]] auto n = write(2, text, std::strlen(text)); };
  say("\nwatchdog: ");
  say(what ? what : "?");
  say("\n");
  weft::rt::fatal("test takes too long");
}

void install() {
  struct sigaction act = {};
  act.sa_handler = bark;
  act.sa_flags = SA_RESTART | SA_ONSTACK;
  sigaction(SIGALRM, &act, nullptr);
}

}  // namespace

watchdog::watchdog(const char* what, int seconds) : outer_what_(watched.exchange(what)) {
  install();
  outer_left_ = alarm(static_cast<unsigned>(seconds * (slowdown > 1 ? 5 : 1)));
}

watchdog::~watchdog() {
  alarm(outer_left_);
  watched.store(outer_what_);
}

void flag::wait() const noexcept {
  while (!is_set()) sched_yield();
}

}  // namespace weft_test
