// foreign.cpp — what happens to a process when faults, exceptions and the end of the program meet threads and
// handlers that are not Weft's: one case for each name in the table below. Run by
// tests/conformance/foreign_test.cpp.
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstring>
#include <stdexcept>
#include <thread>

#include "support/cases.hpp"
#include "weft/chan.hpp"
#include "weft/go.hpp"
#include "weft/runtime.hpp"
#include "weft/this_goroutine.hpp"

namespace {

namespace self = weft::this_goroutine;

std::atomic<bool> never{false};

// Goroutines that compute and one that waits; some of their threads are outside the runtime when it comes.
void begin_company() {
  std::atomic<int> started{0};
  for (int i = 0; i < 3; ++i)
    weft::go([&] {
      ++started;
      while (!never.load(std::memory_order_relaxed)) continue;
    });
  weft::go([] { weft::make_chan<int>().recv(); });
  while (started < 3) self::yield();
}

void fault() {
  void* forbidden = mmap(nullptr, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  *static_cast<volatile char*>(forbidden) = 1;
}

[[gnu::noinline]] int endless(volatile char* p) {
  if (p == nullptr) return 0;   // never; but so compilers believe that it ends
  volatile char room[1000];
  room[0] = static_cast<char>(*p + 1);
  return endless(room) + room[0];
}

// ---- a thread that is no goroutine ----

void panic_on_thread() {
  std::thread([] {
    self::yield();
    throw std::runtime_error("oops");
  }).join();
}

void exit_on_thread() {
  std::thread([] { self::exit(); }).join();
}

void fault_on_thread() {   // one that has never called Weft
  begin_company();
  std::thread(fault).join();
}

// ---- SIGSEGV that somebody sent ----

[[noreturn]] void wait_for_death() {
  for (;;) pause();                                  // which ends with the slice, too
}

void segv() {
  begin_company();
  kill(getpid(), SIGSEGV);
  wait_for_death();
}

void tgkill_segv() {
  begin_company();
  syscall(SYS_tgkill, getpid(), syscall(SYS_gettid), SIGSEGV);
  wait_for_death();
}

// ---- a handler for faults that is older than the world: main has installed it ----

void handle_fault(int) {
  static const char text[] = "handled\n";
  [[maybe_unused]] const ssize_t n = write(1, text, sizeof text - 1);
  _exit(3);
}

void fault_with_handler() {
  begin_company();
  fault();
}

void overflow_with_handler() {
  begin_company();
  weft::go([] {
    volatile char seed = 0;
    endless(&seed);
  });
  weft::make_chan<int>().recv();
}

// ---- static destructors that call Weft, while loops of the finished world still run ----

void calls_at_exit() {
  static struct last_words {
    ~last_words() {
      auto c = weft::make_chan<int>(1);
      c.send(42);
      self::yield();
      std::thread([=] { std::printf("%d %d\n", c.recv().value_or(0), weft::num_goroutine()); }).join();
    }
  } at_the_end;
  begin_company();
}

const weft_test::named_case cases[] = {
    {"panic_on_thread", panic_on_thread},
    {"exit_on_thread", exit_on_thread},
    {"fault_on_thread", fault_on_thread},
    {"segv", segv},
    {"tgkill_segv", tgkill_segv},
    {"fault_with_handler", fault_with_handler},
    {"overflow_with_handler", overflow_with_handler},
    {"calls_at_exit", calls_at_exit},
};

}  // namespace

int main(int argc, char** argv) {
  const char* wanted = argc > 1 ? argv[1] : "";
  if (std::strstr(wanted, "_with_handler") != nullptr) {
    struct sigaction act = {};
    act.sa_handler = handle_fault;
    sigaction(SIGSEGV, &act, nullptr);
  }
  return weft_test::run_case(cases, wanted, 2, "returned");
}
