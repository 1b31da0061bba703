// signals.cpp — a world under a hail of signals, one case for each name in the table below; prints OK. Run by
// tests/conformance/signal_test.cpp.
#include <errno.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <vector>

#include "os/os.hpp"
#include "support/cases.hpp"
#include "weft/chan.hpp"
#include "weft/go.hpp"
#include "weft/join_handle.hpp"
#include "weft/runtime.hpp"
#include "weft/this_goroutine.hpp"
#include "weft/wait_group.hpp"

extern char** environ;

namespace {

using namespace std::chrono_literals;
namespace os = weft::rt::os;

void check(bool good, const char* what) {
  if (good) return;
  std::fprintf(stderr, "signals: %s\n", what);
  std::_Exit(1);
}

void ask_kernel(bool good, const char* what) {
  if (!good) std::perror(what);
  check(good, "a system call failed");
}

struct pipe_ends {
  int read, write;
  pipe_ends() {
    int ends[2];
    ask_kernel(pipe(ends) == 0, "pipe");
    read = ends[0], write = ends[1];
  }
  ~pipe_ends() {
    close(read);
    close(write);
  }
};

void handle(int signal, void (*f)(int), int flags) {
  struct sigaction act = {};
  act.sa_handler = f;
  act.sa_flags = flags;
  ask_kernel(sigaction(signal, &act, nullptr) == 0, "sigaction");
}

// Computes on every processor, in the background, while it lives: so that slices end.
class loops {
 public:
  explicit loops(int n) {
    for (int i = 0; i < n; ++i)
      all_.go([this] { for (volatile unsigned k = 0; !stop_.load(std::memory_order_relaxed);) k = k + 1; });
  }
  ~loops() {
    stop_ = true;
    all_.wait();
  }

 private:
  std::atomic<bool> stop_{false};
  weft::wait_group all_;
};

// ---- our signal reaches the thread that it was sent to ----

std::atomic<long> arrived_at{0};

// `stay` runs in a goroutine on a thread of its own, is sent the signal, and is told by `release` to end.
template <class Stay, class Release>
void send_to_thread(Stay stay, Release release) {
  std::atomic<long> id{0};
  auto there = weft::spawn(weft::attrs{.locked = true}, [&] {
    id = os::thread_id();
    stay();
  });
  while (id == 0) weft::this_goroutine::yield();
  arrived_at = 0;
  check(os::interrupt_thread(static_cast<std::int32_t>(id)), "cannot interrupt a thread");
  while (arrived_at == 0) weft::this_goroutine::yield();
  check(arrived_at == id, "the signal came to another thread");
  release();
  there.join();
}

void receive_interrupts() {   // preemption by signal is off (the environment), so the signal is ours alone
  os::install_interrupt([](os::interrupt_for, const void*) noexcept { arrived_at = os::thread_id(); });
}

void signal_m() {
  receive_interrupts();
  for (int round = 0; round < 10; ++round) {
    std::atomic<bool> over{false};
    send_to_thread([&] { while (!over) usleep(100); }, [&] { over = true; });
  }
}

void signal_m_in_call() {
  receive_interrupts();
  for (int round = 0; round < 10; ++round) {
    pipe_ends tube;
    auto stay = [&] {
      char c;
      check(read(tube.read, &c, 1) == 1, "the call in which the signal came was not resumed");
    };
    send_to_thread(stay, [&] { ask_kernel(write(tube.write, "x", 1) == 1, "write"); });
  }
}

// ---- what the program ignores stays ignored ----

void ignore_sigtrap() {   // main has ignored them before the world began
  loops background(4);
  for (int i = 0; i < 10; ++i) {
    for (int signal : {SIGTRAP, SIGURG}) {
      kill(getpid(), signal);
      raise(signal);
    }
    weft::this_goroutine::sleep_for(1ms);
  }
  struct sigaction now;
  sigaction(SIGTRAP, nullptr, &now);
  check(now.sa_handler == SIG_IGN, "SIGTRAP is no longer ignored");
}

// ---- EINTR ----

// Calls that the kernel resumes are resumed: our signal is installed with SA_RESTART.
void no_eintr() {
  loops background(4);
  std::vector<weft::join_handle<void>> all;
  for (int i = 0; i < 8; ++i)
    all.push_back(weft::spawn([] {
      pipe_ends tube;
      std::thread writer([&] {
        for (int k = 0; k < 20; ++k) {
          std::this_thread::sleep_for(500us);
          ask_kernel(write(tube.write, "x", 1) == 1, "write");
        }
      });
      for (int k = 0; k < 20; ++k) {
        char c;
        ask_kernel(read(tube.read, &c, 1) == 1, "read");
      }
      writer.join();
    }));
  for (auto& one : all) one.join();
}

void clear_restart(int signal) {
  struct sigaction act;
  sigaction(signal, nullptr, &act);
  act.sa_flags &= ~SA_RESTART;
  ask_kernel(sigaction(signal, &act, nullptr) == 0, "sigaction");
}

int exit_status_of_true() {
  char name[] = "/bin/true";
  char* arguments[] = {name, nullptr};
  pid_t pid;
  if (posix_spawn(&pid, name, nullptr, nullptr, arguments, environ) != 0) return -1;
  int status;
  while (waitpid(pid, &status, 0) < 0)
    if (errno != EINTR) return -1;
  return status;
}

void exchange(weft::chan<int> in, weft::chan<int> out, bool begins) {
  for (int i = 0; i < 500; ++i) {
    if (begins) out.send(i);
    check(in.recv() == i, "a value was lost");
    if (!begins) out.send(i);
  }
}

// Nothing is resumed by the kernel any more: what waits in Weft, goroutine or plain thread, does not notice.
void eintr() {
  handle(SIGWINCH, [](int) {}, 0);
  handle(SIGCHLD, [](int) {}, 0);
  clear_restart(SIGURG);
  loops background(2);
  std::atomic<bool> stop{false};
  auto a = weft::make_chan<int>(), b = weft::make_chan<int>();
  weft::wait_group all;
  auto sleep_well = [] {
    for (int i = 0; i < 20; ++i) {
      const auto start = std::chrono::steady_clock::now();
      weft::this_goroutine::sleep_for(2ms);
      check(std::chrono::steady_clock::now() - start >= 2ms, "woken early");
    }
  };
  for (int i = 0; i < 4; ++i) all.go(sleep_well);
  for (int i = 0; i < 4; ++i) all.go([] { check(exit_status_of_true() == 0, "/bin/true failed"); });
  all.go([=] { exchange(a, b, true); });
  std::thread sleeper(sleep_well);
  std::thread exchanger([=] { exchange(b, a, false); });
  std::thread hail([&] {
    while (!stop) {
      kill(getpid(), SIGWINCH);
      for (auto* t : {&sleeper, &exchanger})
        for (int signal : {SIGWINCH, SIGURG}) pthread_kill(t->native_handle(), signal);
      std::this_thread::sleep_for(50us);
    }
  });
  all.wait();
  stop = true;
  hail.join();   // the other two may not be gone before
  sleeper.join();
  exchanger.join();
}

// ---- our handler on threads that it has nothing to do with, in the middle of malloc ----

std::atomic<int> urgent{0};

void race_signal() {   // main has installed a handler for SIGURG before the world began
  loops background(2);
  std::atomic<int> sent{0};
  std::atomic<bool> over{false};
  std::vector<std::thread> allocators, signallers;
  for (int i = 0; i < 20; ++i)
    allocators.emplace_back([&] {
      while (sent == 0) std::this_thread::yield();
      for (int round = 0; round < 100 || urgent == 0; ++round) {
        void* all[100];
        for (std::size_t k = 0; k < 100; ++k) all[k] = std::malloc(k);
        for (void* one : all) std::free(one);
      }
      while (!over) std::this_thread::yield();
    });
  for (int i = 0; i < 4; ++i)
    signallers.emplace_back([&] {
      for (int round = 0; round < 20; ++round) {
        for (auto& t : allocators) pthread_kill(t.native_handle(), SIGURG);
        ++sent;
        std::this_thread::yield();
      }
    });
  for (auto& t : signallers) t.join();
  over = true;
  for (auto& t : allocators) t.join();
}

const weft_test::named_case cases[] = {
    {"signal_m", signal_m},
    {"signal_m_in_call", signal_m_in_call},
    {"ignore_sigtrap", ignore_sigtrap},
    {"no_eintr", no_eintr},
    {"eintr", eintr},
    {"race_signal", race_signal},
};

}  // namespace

int main(int argc, char** argv) {
  const char* wanted = argc > 1 ? argv[1] : "";
  if (std::strcmp(wanted, "ignore_sigtrap") == 0)
    for (int signal : {SIGTRAP, SIGURG}) handle(signal, SIG_IGN, 0);
  if (std::strcmp(wanted, "race_signal") == 0) handle(SIGURG, [](int) { ++urgent; }, SA_RESTART);
  return weft_test::run_case(cases, wanted, 4);
}
