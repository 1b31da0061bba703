// worlds.cpp — goroutines that know nothing of Weft, for some worlds.
//
//   joined      all goroutines end. Their counts and a sum under a std::mutex are the same: nothing was lost.
//               Memory is as it was after the worlds before: nothing leaked
//   abandoned   the last one: main returns, the process exits, and all are in full run
#include <malloc.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <mutex>
#include <thread>
#include <vector>

#include "command.hpp"
#include "watch.hpp"
#include "weft/weft.hpp"

namespace soak {

using namespace std::chrono_literals;

namespace {

constexpr std::size_t stack_size = 1 << 20;          // std::regex needs some for each letter
constexpr int usual_start = 5, slow_start = 60;      // seconds until all have begun

class crowd {
 public:
  explicit crowd(const command& how) : chosen_(how.chosen), counters_(how.goroutines) {}

  std::span<const counter> counters() const { return counters_; }
  void stop() { stop_.store(true, std::memory_order_relaxed); }
  bool stops() const { return stop_.load(std::memory_order_relaxed); }

  void work(std::size_t i) try {
    kit mine(i);
    std::uint64_t count = 0;
    while (!stops()) {
      chosen_[mine.random.index(chosen_.size())]->run(mine);
      counters_[i].value.store(++count, std::memory_order_relaxed);
      std::scoped_lock hold(total_lock_);
      ++total_;
    }
  } catch (const std::exception& e) {
    fail(e.what());
  }

  std::uint64_t counted() const {
    std::uint64_t sum = 0;
    for (const counter& c : counters_) sum += c.value;
    if (sum != total_) fail("lost: " + std::to_string(sum) + " counted, sum " + std::to_string(total_));
    return sum;
  }

 private:
  std::vector<const operation*> chosen_;
  std::vector<counter> counters_;
  std::atomic<bool> stop_{false};
  std::mutex total_lock_;
  std::uint64_t total_ = 0;
};

void start(crowd& all, const weft::wait_group& done) {
  for (std::size_t i = 0; i < all.counters().size(); ++i) {
    done.add(1);
    weft::go({.stack_size = stack_size}, [&all, done, i] {
      all.work(i);
      done.done();
    });
  }
}

// Goroutines that take their threads with them, so that new ones are needed all the time.
void use_up_threads(const crowd& all, const weft::wait_group& done) {
  for (int i = 0; i < 2; ++i)
    done.go([&all] {
      while (!all.stops()) weft::spawn({.locked = true}, [] {}).join();
    });
}

watch_options watch_for(const command& how, double seconds) {
  return {.procs = how.procs,
          .length = std::chrono::milliseconds(static_cast<long>(1000 * seconds)),
          .each = how.gap_ms == 0,
          .longest_start = how.threads == fault::none ? usual_start : slow_start,
          .longest_gap = std::chrono::milliseconds(how.gap_ms)};
}

// ---- memory ----

struct memory {
  std::size_t used, resident;
};

memory memory_now() {
  malloc_trim(0);
  std::ifstream in("/proc/self/statm");
  std::size_t all = 0, resident = 0;
  in >> all >> resident;
  return {mallinfo2().uordblks, resident * static_cast<std::size_t>(sysconf(_SC_PAGESIZE))};
}

void compare(std::span<const memory> before, std::span<const memory> after, std::size_t memory::*what,
             std::size_t slack, const char* name) {
  const std::size_t first = std::ranges::min(before, {}, what).*what;
  const std::size_t then = std::ranges::min(after, {}, what).*what;
  if (then <= first + slack) return;
  fail("leak: " + std::to_string(first >> 10) + " KiB " + name + ", later " + std::to_string(then >> 10));
}

// Caches of threads, arenas and stacks fill in the first worlds. What all later ones have more is a leak.
void check_leaks(std::span<const memory> rounds) {
  if (rounds.size() < 4) return;
  const auto before = rounds.subspan(1, rounds.size() / 2 - 1), after = rounds.subspan(rounds.size() / 2);
  compare(before, after, &memory::used, 4 << 20, "allocated");
  compare(before, after, &memory::resident, 64 << 20, "resident");
}

// ---- worlds ----

void report(const sight& seen, std::uint64_t steps, clock::duration end, const memory& left) {
  const auto mib = [](std::size_t bytes) { return static_cast<double>(bytes) / (1 << 20); };
  std::printf("  %2d s, %8llu steps, all began within %d ms, worst gap %.1f ms, end %.1f ms; ", seen.windows,
              static_cast<unsigned long long>(steps), static_cast<int>(seen.start / 1ms),
              milliseconds(seen.worst_gap), milliseconds(end));
  std::printf("%.1f MiB used, %.1f resident\n", mib(left.used), mib(left.resident));
  std::fflush(stdout);
}

memory joined_world(const command& how, double seconds) {
  crowd all(how);
  sight seen;
  clock::time_point ended;
  weft::run({.maxprocs = how.procs}, [&] {
    make_threads_suffer(how.threads);
    watch watcher(watch_for(how, seconds), all.counters(), [&all] { all.stop(); });
    const weft::wait_group done;
    start(all, done);
    if (how.threads != fault::none) use_up_threads(all, done);
    done.wait();
    seen = watcher.result();
    make_threads_suffer(fault::none);
    ended = clock::now();
  });
  const auto end = clock::now() - ended;
  const memory left = memory_now();
  report(seen, all.counted(), end, left);
  if (how.gap_ms != 0 && seen.worst_gap > std::chrono::milliseconds(how.gap_ms))
    fail("a gap of " + std::to_string(milliseconds(seen.worst_gap)) + " ms");
  return left;
}

void abandoned_world(const command& how) {
  auto* all = new crowd(how);                        // for ever: they go on while the process exits
  clock::time_point ended;
  weft::run({.maxprocs = how.procs}, [&] {
    const weft::wait_group done;
    start(*all, done);
    weft::this_goroutine::sleep_for(100ms);
    ended = clock::now();
  });
  std::printf("  abandoned in full run: end %.1f ms\n", milliseconds(clock::now() - ended));
}

}  // namespace

void run_goroutines(const command& how) {
  const double each = std::clamp(how.seconds / 5, 1.0, 10.0);
  const auto begun = clock::now();
  std::vector<memory> rounds;
  do rounds.push_back(joined_world(how, each));
  while (milliseconds(clock::now() - begun) / 1000 + each / 2 < how.seconds);
  if (how.threads != fault::none) std::printf("  %d threads failed or hung\n", faults_suffered());
  check_leaks(rounds);
  abandoned_world(how);
}

// What the machine, libc's locks and the kernel do by themselves.
void run_threads(const command& how) {
  crowd all(how);
  watch watcher(watch_for(how, how.seconds), all.counters(), [&all] { all.stop(); });
  {
    std::vector<std::jthread> threads;
    for (std::size_t i = 0; i < how.goroutines; ++i) threads.emplace_back([&all, i] { all.work(i); });
  }
  report(watcher.result(), all.counted(), {}, memory_now());
}

}  // namespace soak
