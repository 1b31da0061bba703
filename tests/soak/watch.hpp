// watch.hpp — a plain thread that watches counters grow. It belongs to no runtime: it sees when one stands.
//
//   every look (1 ms)   has the sum of all counters grown? The longest time in which it has not is the gap
//   every window (1 s)  has EACH counter grown? If not: who stands, and the process ends with a dump
//
// On a busy machine everything seems to stand still. A window lasts until the process has had as much CPU as
// it could use in a second, or has not been kept waiting for one for a second; 10 s at most. From a gap that
// is too long the time is taken off in which the watcher itself was late, or in which threads of the process
// could run and got no CPU (/proc/self/task/TID/schedstat).
//
// Who has not begun may stand for a while: a goroutine that is stopped in the middle of something needs its
// thread, so the next one needs another, and those come one after the other.
#pragma once
#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <span>
#include <thread>

namespace soak {

using clock = std::chrono::steady_clock;
inline double milliseconds(clock::duration d) { return std::chrono::duration<double, std::milli>(d).count(); }

struct alignas(64) counter {
  std::atomic<std::uint64_t> value{0};
};

struct watch_options {
  int procs = 1;
  clock::duration length{};                // the watch is over then, at the end of a window
  bool each = true;                        // judge the windows
  int longest_start = 5;                   // windows; then all must have begun
  clock::duration longest_gap{};           // judge the gap; zero: only measure
};

struct sight {
  int windows = 0;
  clock::duration start{};                 // until all had counted
  clock::duration worst_gap{};             // what was taken off is not in it
  clock::duration taken_off{};
};

class window;

class watch {
 public:
  // `over` is called on the watching thread when the time is up; then the sum may stand still.
  watch(const watch_options& how, std::span<const counter> counters, std::function<void()> over);
  sight result();                          // waits

 private:
  void look_on(std::span<const counter> counters, const std::function<void()>& over);
  bool end_window(const window& w, clock::time_point start);

  watch_options how_;
  sight seen_;
  std::thread thread_;
};

// Says what is wrong, runs $WEFT_SOAK_ON_FAILURE (a shell command; SOAK_PID is set), and ends the process by
// SIGQUIT, whose handler dumps all goroutines.
[[noreturn]] void die(const std::string& what);

}  // namespace soak
