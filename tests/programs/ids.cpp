// ids.cpp — user and group ids belong to the thread in Linux and to the process in POSIX: libc changes them
// on every thread, by a signal of its own that each must answer. Threads that Weft has stopped in its handler
// must, too, and those that sleep, serve, begin or end. One case for each name in the table below; prints OK.
// Run by tests/conformance/syscall_test.cpp. Two of them change ids, which only root may.
#include <dirent.h>
#include <errno.h>
#include <grp.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "support/cases.hpp"
#include "weft/chan.hpp"
#include "weft/go.hpp"
#include "weft/join_handle.hpp"
#include "weft/runtime.hpp"
#include "weft/this_goroutine.hpp"
#include "weft/wait_group.hpp"

namespace {

void check(bool good, const std::string& what) {
  if (good) return;
  std::fprintf(stderr, "ids: %s (errno %d)\n", what.c_str(), errno);
  std::_Exit(1);
}

// While it lives: goroutines compute, so that threads are stopped in the handler; threads begin and end; a
// plain thread waits in Weft.
class commotion {
 public:
  commotion() : waiter_([this] { release_.recv(); }) {
    for (int i = 0; i < 6; ++i)
      all_.go([this] { for (volatile unsigned k = 0; !stop_.load(std::memory_order_relaxed);) k = k + 1; });
    all_.go([this] {
      while (!stop_) weft::spawn(weft::attrs{.locked = true}, [] { weft::this_goroutine::yield(); }).join();
    });
  }
  ~commotion() {
    stop_ = true;
    release_.close();
    all_.wait();
    waiter_.join();
  }

 private:
  std::atomic<bool> stop_{false};
  weft::chan<int> release_ = weft::make_chan<int>();
  weft::wait_group all_;
  std::thread waiter_;
};

// The line "Gid:\t0\t1\t0\t1" of one task; empty when it is gone.
std::string line_of(const std::string& task, const std::string& name) {
  std::ifstream status("/proc/self/task/" + task + "/status");
  for (std::string line; std::getline(status, line);)
    if (line.starts_with(name)) return line.substr(0, line.find_last_not_of(" \t") + 1);
  return "";
}

// Every thread of the process, the runtime's own too. Not one that ends: libc leaves it alone, and the kernel
// shows it until it is gone.
void check_all(const std::string& call, const std::string& name, const std::string& values) {
  DIR* tasks = opendir("/proc/self/task");
  check(tasks != nullptr, "no /proc");
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  int found = 0;
  while (dirent* d = readdir(tasks)) {
    if (d->d_name[0] == '.') continue;
    for (std::string line; !(line = line_of(d->d_name, name)).empty(); sched_yield()) {
      ++found;
      if (line == name + values) break;
      check(std::chrono::steady_clock::now() < deadline, call + ": a thread stays with " + line);
    }
  }
  closedir(tasks);
  check(found >= 4, "found too few threads");
}

void setuid_etc() {
  const gid_t some[] = {0, 1, 2, 3};
  const struct { const char* name; int result; } errors[] = {
      {"setgid(-1)", setgid(static_cast<gid_t>(-1))},
      {"setuid(-1)", setuid(static_cast<uid_t>(-1))},
  };
  for (auto& e : errors) check(e.result == -1 && errno == EINVAL, std::string(e.name) + " does not fail");
  commotion here;
  auto call = [](const char* text, int result, const char* name, const char* values) {
    check(result == 0, std::string(text) + " failed");
    check_all(text, name, values);
  };
#define CALL(what, name, values) call(#what, what, name, values)
  CALL(setegid(1), "Gid:", "\t0\t1\t0\t1");
  CALL(setegid(0), "Gid:", "\t0\t0\t0\t0");
  CALL(seteuid(1), "Uid:", "\t0\t1\t0\t1");
  CALL(setuid(0), "Uid:", "\t0\t0\t0\t0");
  CALL(setgid(1), "Gid:", "\t1\t1\t1\t1");
  CALL(setgid(0), "Gid:", "\t0\t0\t0\t0");
  CALL(setgroups(4, some), "Groups:", "\t0 1 2 3");
  CALL(setgroups(0, nullptr), "Groups:", "");
  CALL(setgroups(1, some), "Groups:", "\t0");
  CALL(setregid(101, 0), "Gid:", "\t101\t0\t0\t0");
  CALL(setregid(0, 102), "Gid:", "\t0\t102\t102\t102");
  CALL(setregid(0, 0), "Gid:", "\t0\t0\t0\t0");
  CALL(setreuid(1, 0), "Uid:", "\t1\t0\t0\t0");
  CALL(setreuid(0, 2), "Uid:", "\t0\t2\t2\t2");
  CALL(setreuid(0, 0), "Uid:", "\t0\t0\t0\t0");
  CALL(setresgid(101, 0, 102), "Gid:", "\t101\t0\t102\t0");
  CALL(setresgid(0, 102, 101), "Gid:", "\t0\t102\t101\t102");
  CALL(setresgid(0, 0, 0), "Gid:", "\t0\t0\t0\t0");
  CALL(setresuid(1, 0, 2), "Uid:", "\t1\t0\t2\t0");
  CALL(setresuid(0, 2, 1), "Uid:", "\t0\t2\t1\t2");
  CALL(setresuid(0, 0, 0), "Uid:", "\t0\t0\t0\t0");
#undef CALL
}

// Goroutines ask their own thread, by the bare system call, whether it has seen the change. They are locked
// while they do; every fifth ends locked, and new ones come all the time.
void all_threads() {
  commotion here;
  auto question = weft::make_chan<gid_t>();
  auto answer = weft::make_chan<bool>();
  int waiters = 0;
  auto waiter = [=](bool once) {
    while (auto wanted = question.recv()) {
      weft::thread_lock pin;
      answer.send(static_cast<gid_t>(syscall(SYS_getegid)) == *wanted);
      if (once) return;
    }
  };
  for (int launch = 0; launch < 22; ++launch) {
    const bool once = waiters % 5 == 4;
    weft::go({.locked = once}, waiter, once);        // one that ends so takes its thread with it
    ++waiters;
    const gid_t wanted = launch & 1;
    check(setegid(wanted) == 0, "setegid failed");
    for (int i = 0; i < waiters; ++i) question.send(wanted);
    for (int i = 0; i < waiters; ++i) check(*answer.recv(), "a thread has another group");
    weft::this_goroutine::yield();
    check(static_cast<gid_t>(syscall(SYS_getegid)) == wanted, "main's thread has another group");
    if (once) --waiters;
  }
  question.close();
  check(setegid(0) == 0, "setegid failed");
}

// A thread that is blocked in a call answers, and its call goes on.
void blocked_syscall() {
  commotion here;
  int ends[2];
  check(pipe(ends) == 0, "pipe");
  auto ready = weft::make_chan<int>();
  auto reader = weft::spawn([=] {
    ready.send(1);
    char c;
    return read(ends[0], &c, 1);
  });
  ready.recv();
  for (int i = 0; i < 30; ++i) {
    check(setegid(getegid()) == 0, "setegid failed");
    weft::this_goroutine::yield();
  }
  close(ends[1]);
  check(reader.join() == 0, "the blocked read ended otherwise than by the end of the pipe");
  close(ends[0]);
}

const weft_test::named_case cases[] = {
    {"setuid_etc", setuid_etc},
    {"all_threads", all_threads},
    {"blocked_syscall", blocked_syscall},
};

}  // namespace

int main(int argc, char** argv) {
  const char* wanted = argc > 1 ? argv[1] : "";
  return weft_test::run_case(cases, wanted, 4);
}
