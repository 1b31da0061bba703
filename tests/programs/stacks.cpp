// stacks.cpp — goroutines that run, block and are stopped on other threads, and a way to die for each name
// below. Run by tests/life/stacks_test.cpp.
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <string>

#include "sched/sched.hpp"
#include "weft/weft.hpp"

namespace {

namespace self = weft::this_goroutine;
using namespace std::chrono_literals;

std::atomic<int> looping{0};
std::atomic<bool> stop{false};
std::atomic<int> deaf{0}, blocked{0};

}  // namespace

// Names to look for.
[[gnu::noinline]] void computes() {
  ++looping;
  for (volatile unsigned n = 0; !stop.load(std::memory_order_relaxed);) n = n + 1;
}

[[gnu::noinline]] void blocks_in_read(int fd) {
  char c;
  ++blocked;
  if (read(fd, &c, 1) != 0) std::puts("read");
}

[[gnu::noinline]] void hears_nothing() {
  sigset_t all;
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, nullptr);
  ++deaf;
  for (volatile unsigned n = 0; !stop.load(std::memory_order_relaxed);) n = n + 1;
}

[[gnu::noinline]] void parks() { weft::make_chan<int>().recv(); }

namespace {

bool somebody_receives() {
  bool found = false;
  weft::rt::for_each_goroutine([](weft::rt::goroutine* gp, void* p) {
    *static_cast<bool*>(p) |= gp->status.load() == weft::rt::g_status::waiting &&
                              gp->reason.load() == weft::rt::wait_reason::chan_receive;
  }, &found);
  return found;
}

void set_up(int loops) {
  int pipe_ends[2];
  if (pipe(pipe_ends) != 0) std::abort();
  weft::go({.name = "blocked"}, [=] { blocks_in_read(pipe_ends[0]); });
  weft::go({.name = "parked"}, parks);
  weft::go({.name = "deaf", .locked = true}, hears_nothing);
  for (int i = 0; i < loops; ++i) weft::go({.name = "loop"}, computes);
  while (looping < loops || deaf == 0 || blocked == 0 || !somebody_receives()) self::sleep_for(1ms);
}

volatile std::uintptr_t nowhere = 8;

void die(const std::string& how) {
  if (how == "segv") *reinterpret_cast<volatile int*>(nowhere) = 1;
  if (how == "abort") std::abort();
  if (how == "ill") __builtin_trap();
  if (how == "sent_segv") kill(getpid(), SIGSEGV);
  if (how == "fpe") raise(SIGFPE);
  if (how == "throw") throw std::runtime_error("oops");
  if (how == "quit") kill(getpid(), SIGQUIT);
  if (how == "dump") {
    weft::dump_goroutines(2);
    stop = true;
    return;
  }
  for (;;) self::sleep_for(1s);
}

void on_fpe(int) { _exit(5); }

}  // namespace

int main(int argc, char** argv) {
  const std::string how = argc > 1 ? argv[1] : "";
  if (how == "users") {
    signal(SIGFPE, on_fpe);
    weft::run([] { die("fpe"); });
  }
  if (how == "terminate_aborts") std::set_terminate([] { std::abort(); });
  if (how == "after_world") {
    weft::run([] {});
    die("segv");
  }
  weft::run([&] {
    set_up(3);
    weft::go({.name = "dies"}, [&] { die(how == "terminate_aborts" ? "throw" : how); });
    while (!stop) self::sleep_for(1ms);
  });
  std::puts("returned");
}
