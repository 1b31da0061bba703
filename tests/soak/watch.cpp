// watch.cpp — see watch.hpp.
#include "watch.hpp"

#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <numeric>
#include <string>
#include <vector>

#include "weft/dump.hpp"

namespace soak {

namespace {

using namespace std::chrono_literals;

constexpr auto look_every = 1ms;
constexpr auto late = 3ms;                 // a look that comes later than this is not counted in full
constexpr auto suspicious = 10ms;          // from here on the waiting times of threads are read

clock::duration cpu_time() {
  timespec t{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return std::chrono::seconds(t.tv_sec) + std::chrono::nanoseconds(t.tv_nsec);
}

// How long each thread could run and got no CPU, since it began.
using waiting_times = std::map<int, clock::duration>;

waiting_times read_waiting_times() {
  waiting_times all;
  std::error_code ignored;
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task", ignored)) {
    std::ifstream in(task.path() / "schedstat");
    long long ran = 0, waited = 0;
    const int id = std::atoi(task.path().filename().c_str());
    if (in >> ran >> waited) all[id] = std::chrono::nanoseconds(waited);
  }
  return all;
}

clock::duration waited_since(const waiting_times& before) {
  clock::duration sum{};
  for (const auto& [id, time] : read_waiting_times()) {
    const auto found = before.find(id);
    sum += time - (found == before.end() ? clock::duration{} : found->second);
  }
  return sum;
}

// That the process can use at a time.
int cpus(int procs) {
  const int all = static_cast<int>(std::thread::hardware_concurrency());
  return std::min(procs, std::max(all, 1));
}

std::vector<std::uint64_t> read_all(std::span<const counter> counters) {
  std::vector<std::uint64_t> values;
  for (const counter& c : counters) values.push_back(c.value.load(std::memory_order_relaxed));
  return values;
}

std::uint64_t sum_of(std::span<const counter> counters) {
  std::uint64_t sum = 0;
  for (const counter& c : counters) sum += c.value.load(std::memory_order_relaxed);
  return sum;
}

// The longest time without progress of anybody.
class gap_meter {
 public:
  gap_meter(const watch_options& how, clock::time_point now) : how_(how), last_look_(now), since_(now) {}

  void look(std::uint64_t sum, clock::time_point now, sight& seen) {
    if (const auto took = now - last_look_; took > late) excused_ += took - look_every;
    last_look_ = now;
    if (sum == sum_) {
      if (!snapped_ && now - since_ > suspicious) {
        snapped_ = true;
        before_ = read_waiting_times();
      }
      if (now - since_ > 10s) die("no goroutine has made any progress for 10 s");
      return;
    }
    note_gap(now, seen);
    sum_ = sum;
    since_ = now;
    snapped_ = false;
    excused_ = {};
  }

 private:
  void note_gap(clock::time_point now, sight& seen) {
    const auto gap = now - since_;
    if (gap - excused_ <= seen.worst_gap) return;
    if (snapped_) excused_ = std::max(excused_, waited_since(before_) / how_.procs);
    excused_ = std::min(excused_, gap);
    if (gap - excused_ <= seen.worst_gap) return;
    seen.worst_gap = gap - excused_;
    seen.taken_off = excused_;
    if (how_.longest_gap != how_.longest_gap.zero() && seen.worst_gap > how_.longest_gap)
      std::fprintf(stderr, "weft-soak: no progress for %.1f ms (and %.1f ms without a CPU)\n",
                   milliseconds(seen.worst_gap), milliseconds(excused_));
  }

  const watch_options& how_;
  clock::time_point last_look_, since_;
  std::uint64_t sum_ = 0;
  clock::duration excused_{};
  bool snapped_ = false;
  waiting_times before_;
};

bool all_count(std::span<const counter> counters) {
  return std::ranges::none_of(counters, [](const counter& c) { return c.value == 0; });
}

std::string names_of(const std::vector<std::size_t>& standing) {
  std::string text;
  for (std::size_t i = 0; i < std::min<std::size_t>(standing.size(), 20); ++i)
    text += " " + std::to_string(standing[i]);
  return text + (standing.size() > 20 ? " ..." : "");
}

void run_on_failure() {
  const char* command = std::getenv("WEFT_SOAK_ON_FAILURE");
  if (command == nullptr) return;
  const std::string whole = "SOAK_PID=" + std::to_string(getpid()) + "; " + command;
  const char* words[] = {"sh", "-c", whole.c_str(), nullptr};
  pid_t child = 0;
  if (posix_spawn(&child, "/bin/sh", nullptr, nullptr, const_cast<char**>(words), environ) == 0)
    waitpid(child, nullptr, 0);
}

}  // namespace

class window {
 public:
  explicit window(std::span<const counter> counters)
      : counters_(counters), cpu_(cpu_time()), waited_(read_waiting_times()), values_(read_all(counters)) {}

  bool is_over(clock::time_point now, int procs) {
    const auto wall = now - begun_;
    if (wall < 1s || now < next_look_) return false;
    next_look_ = now + 100ms;
    if (cpu_time() - cpu_ >= 900ms * cpus(procs)) return true;
    return wall - waited_since(waited_) / procs >= 1s || wall >= 10s;
  }

  struct result {
    std::vector<std::size_t> standing;     // have not counted on
    std::size_t not_begun = 0;
  };
  result outcome() const {
    result r;
    const auto now = read_all(counters_);
    for (std::size_t i = 0; i < now.size(); ++i) {
      r.not_begun += now[i] == 0;
      if (now[i] == values_[i] && now[i] != 0) r.standing.push_back(i);
    }
    return r;
  }
  std::string times() const {
    const auto wall = clock::now() - begun_, cpu = cpu_time() - cpu_;
    return std::to_string(wall / 1ms) + " ms, " + std::to_string(cpu / 1ms) + " ms CPU";
  }

 private:
  std::span<const counter> counters_;
  clock::time_point begun_ = clock::now(), next_look_ = begun_;
  clock::duration cpu_;
  waiting_times waited_;
  std::vector<std::uint64_t> values_;
};

void die(const std::string& what) {
  std::fprintf(stderr, "weft-soak: FAILED: %s\n", what.c_str());
  weft::print_schedtrace(2);
  run_on_failure();
  kill(getpid(), SIGQUIT);
  std::this_thread::sleep_for(20s);
  std::fprintf(stderr, "weft-soak: SIGQUIT did not end the process\n");
  _exit(3);
}

watch::watch(const watch_options& how, std::span<const counter> counters, std::function<void()> over)
    : how_(how), thread_([this, counters, over = std::move(over)] { look_on(counters, over); }) {}

sight watch::result() {
  thread_.join();
  return seen_;
}

// True when the watch is over.
bool watch::end_window(const window& w, clock::time_point start) {
  ++seen_.windows;
  const auto [standing, not_begun] = w.outcome();
  if (how_.each && !standing.empty())
    die(std::to_string(standing.size()) + " goroutines stood still in second " +
        std::to_string(seen_.windows) + " (" + w.times() + "; " + std::to_string(not_begun) +
        " have not begun):" + names_of(standing));
  const bool all_begun = not_begun == 0 || !how_.each;
  if (!all_begun && seen_.windows >= how_.longest_start)
    die(std::to_string(not_begun) + " goroutines have not begun");
  return all_begun && clock::now() - start >= how_.length;
}

void watch::look_on(std::span<const counter> counters, const std::function<void()>& over) {
  const auto start = clock::now();
  gap_meter gap(how_, start);
  for (bool done = false; !done;) {
    window w(counters);
    for (auto now = start; !w.is_over(now, how_.procs);) {
      std::this_thread::sleep_for(look_every);
      now = clock::now();
      gap.look(sum_of(counters), now, seen_);
      if (seen_.start == seen_.start.zero() && all_count(counters)) seen_.start = now - start;
    }
    done = end_window(w, start);
  }
  over();
}

}  // namespace soak
