// ends.cpp — ways to leave the process while goroutines exist, one for each name below. Run by
// tests/life/exit_test.cpp.
#include <pthread.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "sched/sched.hpp"
#include "support/cases.hpp"
#include "weft/weft.hpp"

namespace {

using weft::go;
namespace self = weft::this_goroutine;
using namespace std::chrono_literals;
using clock_type = std::chrono::steady_clock;

void spin_for(clock_type::duration time) {
  for (const auto end = clock_type::now() + time; clock_type::now() < end;) continue;
}

// ---- exit() in a storm: handlers and destructors need the locks of those who are stopped ----

FILE* nowhere;

void allocate_and_print() {
  for (std::size_t k = 0;; ++k) {
    const std::string text(k * 7 % 500, 'x');
    std::fprintf(nowhere, "%s\n", text.c_str());
  }
}

weft::chan<int> question, answer;

void at_end() {
  std::vector<std::string> some(100, std::string(100, 'x'));
  std::fprintf(nowhere, "%s\n", some.back().c_str());
  question.send(1);                                  // the others still run
  std::printf("answer %d\n", answer.recv().value_or(0));
}

// With goroutines that wait in them: the one from before run(), the other made in it.
struct objects {
  weft::mutex mutex;
  weft::chan<int> chan = weft::make_chan<int>();
  weft::condition_variable condition;
  weft::wait_group group;
  weft::latch latch{1};
  weft::counting_semaphore<> semaphore{0};
  ~objects() { std::puts("destroyed"); }
};

void wait_in(objects& o) {
  o.mutex.lock();
  o.group.add(1);
  go([&] { o.mutex.lock(); });
  go([&] { (void)o.chan.recv(); });
  go([group = o.group] { group.wait(); });           // a copy, as it is meant: the counter lives on
  go([&] { o.latch.wait(); });
  go([&] { o.semaphore.acquire(); });
  go([&] {
    weft::mutex m;
    std::unique_lock lock(m);
    o.condition.wait(lock);
  });
}

objects early;

// Who comes to an object only after its destruction would be no fault of the runtime.
int waiting_now() {
  int n = 0;
  weft::rt::for_each_goroutine([](weft::rt::goroutine* gp, void* p) {
    *static_cast<int*>(p) += !gp->is_thread && gp->status.load() == weft::rt::g_status::waiting;
  }, &n);
  return n;
}

void storm(void (*leave)()) {
  static objects late;
  nowhere = std::fopen("/dev/null", "w");
  question = weft::make_chan<int>();
  answer = weft::make_chan<int>();
  wait_in(early);
  wait_in(late);
  while (waiting_now() < 12) self::yield();
  go([asked = question, answered = answer] {         // it comes to them again while they are destroyed
    while (auto q = asked.recv()) answered.send(*q + 1);
  });
  for (int i = 0; i < 16; ++i) go(allocate_and_print);
  self::sleep_for(30ms);
  go(leave);
  for (;;) self::sleep_for(1s);
}

// ---- a thread that is stopped with a lock, and would have its next turn in seconds ----

std::mutex contended;
std::atomic<bool> is_held{false}, ends{false};

void want_lock() {
  const auto start = clock_type::now();
  ends = true;
  std::scoped_lock lock(contended);
  std::printf("%s\n", clock_type::now() - start < 1500ms ? "prompt" : "late");
}

void stopped_with_lock() {
  go([] {
    std::scoped_lock lock(contended);
    is_held = true;
    while (!ends.load(std::memory_order_relaxed)) continue;
  });
  while (!is_held) self::yield();
  for (int i = 0; i < 20; ++i)
    go([] { spin_for(1min); });
  std::thread([] {
    while (weft::rt::sched.threads_stopped.load() == 0) std::this_thread::yield();
    std::exit(3);
  }).detach();
  for (;;) self::yield();
}

// ---- nothing is scheduled: a goroutine waits inside the runtime, for one that is stopped ----

void standstill() {
  static std::atomic<bool> has_begun{false}, inside{false}, goes_on{false};
  go([] {
    has_begun = true;
    while (!inside.load(std::memory_order_relaxed)) continue;
    goes_on = true;
  });
  // It has been stopped when we come back; or else its P was taken, and it will be while somebody waits.
  while (!has_begun || weft::rt::sched.threads_stopped.load() == 0) {
    go([] {});
    self::yield();
  }
  go([] {});
  {
    weft::rt::inside in;
    inside = true;
    while (!goes_on.load(std::memory_order_relaxed)) continue;
  }
  std::puts("goes on");
}

// ---- others ----

void exit_3() { std::exit(3); }
void exit_on_thread() {
  std::thread([] { std::exit(3); }).join();
}
void end_thread() { pthread_exit(nullptr); }
void quick() { std::quick_exit(3); }
void at_once() { _exit(3); }

struct { const char* name; void (*leave)(); } const storms[] = {
    {"exit", exit_3}, {"exit_on_thread", exit_on_thread}, {"quick_exit", quick}, {"_exit", at_once},
    {"pthread_exit", end_thread}, {"abort", std::abort},
};
struct { const char* name; void (*run)(); } const others[] = {
    {"stopped_with_lock", stopped_with_lock}, {"standstill", standstill},
};

}  // namespace

int main(int argc, char** argv) {
  const std::string wanted = argc > 1 ? argv[1] : "";
  for (auto& c : others) {
    if (wanted != c.name) continue;
    if (wanted == "stopped_with_lock") std::atexit(want_lock);
    weft::run(c.run);
    return 0;
  }
  std::atexit(at_end);
  std::at_quick_exit(at_end);
  for (auto& c : storms)
    if (wanted == c.name) weft::run([&] { storm(c.leave); });
  return weft_test::no_case(wanted.c_str());
}
