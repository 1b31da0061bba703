// exec.cpp — fork, posix_spawn and exec in a process whose threads come and go, one case for each name in the
// table below; prints OK. Run by tests/conformance/exec_test.cpp.
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <utility>
#include <vector>

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

void check(bool good, const char* what) {
  if (good) return;
  std::fprintf(stderr, "exec: %s\n", what);
  std::_Exit(1);
}

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> all;
  for (std::string& text : texts) all.push_back(text.data());
  all.push_back(nullptr);
  return all;
}

enum class how { spawn, fork };

// Descriptors that become the child's 0 and 1; -1: as ours.
pid_t start(std::vector<std::string> command, how by, int in = -1, int out = -1) {
  std::vector<char*> arguments = pointers(command);
  pid_t pid = -1;
  if (by == how::spawn) {
    posix_spawn_file_actions_t files;
    posix_spawn_file_actions_init(&files);
    if (in >= 0) posix_spawn_file_actions_adddup2(&files, in, 0);
    if (out >= 0) posix_spawn_file_actions_adddup2(&files, out, 1);
    if (posix_spawn(&pid, arguments[0], &files, nullptr, arguments.data(), environ) != 0) pid = -1;
    posix_spawn_file_actions_destroy(&files);
  } else {
    pid = fork();
    if (pid == 0) {
      if (in >= 0) dup2(in, 0);
      if (out >= 0) dup2(out, 1);
      execv(arguments[0], arguments.data());
      _exit(127);
    }
  }
  check(pid > 0, "cannot start a process");
  return pid;
}

int wait_for(pid_t pid) {
  int status = -1;
  while (waitpid(pid, &status, 0) < 0) check(errno == EINTR, "waitpid failed");
  return status;
}

int status_of(std::vector<std::string> command, how by) { return wait_for(start(std::move(command), by)); }

// While it lives: threads begin and end, slices end, and the allocator is in use.
class commotion {
 public:
  commotion() {
    all_.go([this] {
      while (!stop_) {
        weft::spawn(weft::attrs{.locked = true}, [] { weft::this_goroutine::yield(); }).join();
        ++threads_;
      }
    });
    for (int i = 0; i < 2; ++i)
      all_.go([this] { while (!stop_.load(std::memory_order_relaxed)) std::free(std::malloc(100)); });
  }
  ~commotion() {
    stop_ = true;
    all_.wait();
  }
  void wait_for_threads(int n) const {
    while (threads_ < n) weft::this_goroutine::sleep_for(100us);
  }

 private:
  std::atomic<bool> stop_{false};
  std::atomic<int> threads_{0};
  weft::wait_group all_;
};

void signal_during_exec() {
  setpgid(0, 0);                                     // the signals are for our own children
  std::atomic<int> failed{0};
  weft::wait_group all;
  for (int i = 0; i < 10; ++i) {
    weft::this_goroutine::sleep_for(1us);
    all.go([&, i] { failed += status_of({"/bin/true"}, i % 2 == 0 ? how::spawn : how::fork) != 0; });
    all.go([] { kill(-getpgrp(), SIGWINCH); });
  }
  all.wait();
  check(failed == 0, "/bin/true failed");
}

void exec_many() {
  commotion here;
  std::vector<weft::join_handle<bool>> all;
  for (int i = 0; i < 20; ++i)
    all.push_back(weft::spawn([i] {
      return status_of({"/bin/true"}, i % 2 == 0 ? how::spawn : how::fork) == 0;
    }));
  for (auto& one : all) check(one.join(), "/bin/true failed");
}

// Some hang until the end; that the others end must not depend on it, nor on how many hang. One that inherits
// the pipe of another would keep it open.
void concurrent_exec() {
  const int n = 2 * weft::maxprocs();
  commotion here;
  weft::wait_group hung, exited;
  auto release = weft::make_chan<int>();
  for (int i = 0; i < n; ++i) {
    const how by = i % 2 == 0 ? how::spawn : how::fork;
    hung.go([=] {
      int ends[2];
      check(pipe2(ends, O_CLOEXEC) == 0, "no pipe");
      const pid_t pid = start({"/bin/cat"}, by, ends[0]);
      close(ends[0]);
      release.recv();
      close(ends[1]);
      check(wait_for(pid) == 0, "/bin/cat failed");
    });
    exited.go([=] {
      int ends[2];
      check(pipe2(ends, O_CLOEXEC) == 0, "no pipe");
      const pid_t pid = start({"/bin/true"}, by, -1, ends[1]);
      close(ends[1]);
      char c;
      ssize_t got;
      while ((got = read(ends[0], &c, 1)) < 0) check(errno == EINTR, "read failed");
      check(got == 0, "/bin/true speaks");
      close(ends[0]);
      check(wait_for(pid) == 0, "/bin/true failed");
    });
  }
  exited.wait();
  release.close();
  hung.wait();
}

// A child's signal mask is the program's, whichever thread starts it.
void exec_signal_mask() {
  commotion here;
  auto dies_of_term = [](how by) {
    const int status = status_of({"/bin/sh", "-c", "kill -TERM $$; exit 1"}, by);
    check(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM, "a child does not die of SIGTERM");
  };
  std::vector<weft::join_handle<void>> all;
  for (how by : {how::spawn, how::fork}) {
    dies_of_term(by);
    for (bool locked : {false, true})
      for (int i = 0; i < 3; ++i)
        all.push_back(weft::spawn(weft::attrs{.locked = locked}, [=] { dies_of_term(by); }));
    std::thread([=] { dies_of_term(by); }).join();
  }
  for (auto& one : all) one.join();
}

// The process becomes another one, `left` times, from a thread that blocks no signal.
void exec_self(int left) {
  sigset_t mask;
  pthread_sigmask(SIG_SETMASK, nullptr, &mask);
  for (int s = 1; s < NSIG; ++s) check(sigismember(&mask, s) != 1, "a signal is blocked");
  if (left == 0) return;
  commotion here;
  here.wait_for_threads(3);
  std::vector<std::string> command{"/proc/self/exe", "exec_self", std::to_string(left - 1)};
  execv(command[0].c_str(), pointers(command).data());
  check(false, "exec returned");
}

const weft_test::named_case cases[] = {
    {"signal_during_exec", signal_during_exec},
    {"exec_many", exec_many},
    {"concurrent_exec", concurrent_exec},
    {"exec_signal_mask", exec_signal_mask},
};

}  // namespace

int main(int argc, char** argv) {
  const char* wanted = argc > 1 ? argv[1] : "";
  if (std::strcmp(wanted, "exec_self") == 0) {
    weft::run({.maxprocs = 4}, [&] { exec_self(argc > 2 ? std::atoi(argv[2]) : 0); });
    std::puts("OK");
    return 0;
  }
  struct sigaction act = {};
  act.sa_handler = [](int) {};
  act.sa_flags = SA_RESTART;
  sigaction(SIGWINCH, &act, nullptr);
  return weft_test::run_case(cases, wanted, 4);
}
