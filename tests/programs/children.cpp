// children.cpp — fork in goroutines, one way for each name in the table below. Run by
// tests/life/fork_test.cpp.
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <string>
#include <vector>

#include "support/cases.hpp"
#include "weft/weft.hpp"

extern char** environ;

namespace {

using weft::go;
namespace self = weft::this_goroutine;
using namespace std::chrono_literals;

std::atomic<int> failures{0};

void expect(bool is_so, const char* what) {
  if (is_so) return;
  ++failures;
  std::fprintf(stderr, "not so: %s\n", what);
}

int end_of(pid_t child) {
  int status = 0;
  while (waitpid(child, &status, 0) < 0)
    if (errno != EINTR) return -1;
  return status;
}

bool ended_with(int status, int exit_status) {
  return WIFEXITED(status) && WEXITSTATUS(status) == exit_status;
}

// ---- children that exec, while others allocate as fast as they can ----

void fork_and_exec() {
  const pid_t child = fork();
  if (child == 0) {
    execl("/bin/true", "true", nullptr);
    _exit(127);
  }
  expect(child > 0 && ended_with(end_of(child), 0), "fork and exec");
}

void spawn_one() {
  pid_t child = -1;
  char name[] = "true";
  char* arguments[] = {name, nullptr};
  expect(posix_spawn(&child, "/bin/true", nullptr, nullptr, arguments, environ) == 0, "posix_spawn");
  expect(ended_with(end_of(child), 0), "posix_spawn, the child's end");
}

void call_system() { expect(ended_with(std::system("exit 3"), 3), "system"); }

void read_from_popen() {
  FILE* f = popen("echo warp", "r");
  char line[16] = {};
  expect(f != nullptr && std::fgets(line, sizeof line, f) != nullptr, "popen");
  expect(std::strcmp(line, "warp\n") == 0, "popen, what it reads");
  expect(f != nullptr && pclose(f) == 0, "pclose");
}

void allocate_until(const std::atomic<bool>& stop, std::atomic<long>& rounds) {
  std::vector<std::string> kept(64);
  for (std::size_t k = 0; !stop.load(std::memory_order_relaxed); ++k) {
    kept[k % 64] = std::string(k * 7 % 500, 'x');
    rounds.fetch_add(1, std::memory_order_relaxed);
  }
}

void storm() {
  constexpr int allocating = 16, rounds = 8;
  std::atomic<bool> stop{false};
  std::atomic<long> allocated[allocating] = {};
  weft::wait_group all, parents;
  for (int i = 0; i < allocating; ++i) {
    all.add(1);
    go([&, i] {
      allocate_until(stop, allocated[i]);
      all.done();
    });
  }
  for (void (*f)() : {fork_and_exec, spawn_one, call_system, read_from_popen}) {
    parents.add(1);
    go([=] {
      for (int i = 0; i < rounds; ++i) f();
      parents.done();
    });
  }
  parents.wait();
  for (auto& n : allocated)
    while (n.load() == 0) self::yield();
  stop = true;
  all.wait();
}

// ---- children that do not exec ----

int in_child(void (*f)()) {
  const pid_t child = fork();
  if (child != 0) return end_of(child);
  f();
  _exit(0);
}

// The arguments of one call come from before the fork.
weft::chan<int> numbers;
weft::mutex held;

void call_in_child(const char* what) {
  static const char* wanted;
  wanted = what;
  numbers = weft::make_chan<int>(1);
  held.lock();
  const int status = in_child([] {
    const std::string call = wanted;
    if (call == "yield") self::yield();
    if (call == "go") go([] {});
    if (call == "send") numbers.send(1);
    if (call == "close") numbers.close();
    if (call == "lock") held.lock();
    if (call == "sleep") self::sleep_for(1ms);
    if (call == "select") weft::select(weft::on_recv(numbers, [](auto) {}), weft::on_timeout(1ms, [] {}));
    if (call == "run") weft::run([] {});
    if (call == "id") self::id();
    if (call == "dump") weft::dump_goroutines(2);
    if (call == "spawn") weft::spawn([] { return 1; }).join();
  });
  held.unlock();
  expect(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT, what);
}

// What a program has at its end: objects in which goroutines wait, handles, timers, locals.
weft::goroutine_local<std::string> local;

void leave_child() {
  struct objects {
    weft::mutex mutex;
    weft::chan<int> chan = weft::make_chan<int>();
    weft::condition_variable condition;
    weft::wait_group group;
    weft::latch latch{1};
    weft::join_handle<void> handle;
    weft::timer timer;
    weft::ticker ticker{1h};
  };
  static objects o;
  o.timer = weft::timer(1h, [] {});
  o.mutex.lock();
  o.group.add(1);
  o.handle = weft::spawn([] { o.chan.recv(); });
  go([] { o.mutex.lock(); });
  go([] { o.group.wait(); });
  go([] { o.latch.wait(); });
  go([] {
    weft::mutex m;
    std::unique_lock lock(m);
    o.condition.wait(lock);
  });
  *local = "warp";
  self::sleep_for(20ms);
  pid_t child;
  {
    weft::thread_lock here;
    child = fork();
  }
  if (child == 0) std::exit(7);
  expect(ended_with(end_of(child), 7), "a child that exits");
  _exit(failures);   // waiters of a living world
}

// ---- no thread is made during a fork ----

std::atomic<int> prepared{0};
std::atomic<bool> grew{false};

int threads_now() {
  int n = 0;
  if (FILE* f = std::fopen("/proc/self/status", "r")) {
    char line[256];
    while (std::fgets(line, sizeof line, f) != nullptr)
      if (std::sscanf(line, "Threads: %d", &n) == 1) break;
    std::fclose(f);
  }
  return n;
}

// From before run(), so it comes after the runtime's: goroutines block and need threads meanwhile.
void watch_threads() {
  const int before = threads_now();
  const auto end = std::chrono::steady_clock::now() + 50ms;
  prepared = 1;
  while (std::chrono::steady_clock::now() < end)
    if (threads_now() > before) grew = true;
}

void creation() {
  weft::wait_group all;
  for (int i = 0; i < 8; ++i) {
    all.add(1);
    go([&] {
      while (prepared == 0) self::yield();
      ::usleep(60'000);
      all.done();
    });
  }
  self::yield();
  fork_and_exec();
  expect(!grew, "no thread was made");
  all.wait();
  expect(threads_now() > 4, "threads were made afterwards");
}

const weft_test::named_case cases[] = {
    {"storm", storm},
    {"leave_child", leave_child},
    {"creation", creation},
};

}  // namespace

int main(int argc, char** argv) {
  const std::string wanted = argc > 1 ? argv[1] : "";
  if (wanted == "creation") pthread_atfork(watch_threads, nullptr, nullptr);
  if (wanted == "call" && argc > 2) {
    weft::run([&] { call_in_child(argv[2]); });
    return failures;
  }
  for (auto& c : cases) {
    if (wanted != c.name) continue;
    weft::run(c.run);
    return failures;
  }
  return weft_test::no_case(wanted.c_str());
}
