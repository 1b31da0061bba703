// main.cpp — weft-soak: goroutines that know nothing of Weft, for as long as you like, and a watch over them.
//
// The time is cut into worlds of some seconds. In each, every goroutine does operations chosen at random, and
// counts; a plain thread sees to it that each count grows (watch.hpp). At the end of a world all counts are
// compared with a sum under a std::mutex, so that nothing was lost, and memory with that of the worlds before,
// so that nothing leaked. The last world is abandoned in full run, and the process exits.
#include <malloc.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "faults.hpp"
#include "kit.hpp"
#include "watch.hpp"
#include "weft/weft.hpp"

namespace soak {

using namespace std::chrono_literals;

namespace {

constexpr int usage_error = 2;
constexpr std::size_t stack_size = 1 << 20;          // std::regex needs some for each letter
constexpr std::size_t pure_computations = 20'000;

struct command {
  int procs = 2;
  double seconds = 10;
  std::size_t goroutines = 64;
  int arenas = 0;
  int gap_ms = 0;
  fault threads = fault::none;
  bool computes = false, plain = false;
  std::vector<const operation*> chosen;
};

double seconds(clock::duration d) { return std::chrono::duration<double>(d).count(); }
clock::duration from_seconds(double s) {
  return std::chrono::duration_cast<clock::duration>(std::chrono::duration<double>(s));
}

[[noreturn]] void fail(const std::string& what) {
  std::fprintf(stderr, "weft-soak: FAILED: %s\n", what.c_str());
  std::_Exit(1);
}

// ---- one world ----

// Never destroyed: goroutines of the last world use it while the process exits.
struct crowd {
  explicit crowd(const command& how) : chosen(how.chosen), counters(how.goroutines) {}

  void work(std::size_t i) try {
    kit mine(i);
    std::uint64_t count = 0;
    while (!stop.load(std::memory_order_relaxed)) {
      chosen[mine.random.below(chosen.size())]->run(mine);
      counters[i].value.store(++count, std::memory_order_relaxed);
      std::scoped_lock hold(total_lock);
      ++total;
    }
  } catch (const std::exception& e) {
    fail(e.what());
  }

  std::vector<const operation*> chosen;
  std::vector<counter> counters;
  std::atomic<bool> stop{false};
  std::mutex total_lock;
  std::uint64_t total = 0;
};

void start(crowd& all, const weft::wait_group& done) {
  for (std::size_t i = 0; i < all.counters.size(); ++i) {
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
      while (!all.stop.load(std::memory_order_relaxed)) weft::spawn({.locked = true}, [] {}).join();
    });
}

watch_options watch_for(const command& how, clock::duration length) {
  return {.procs = how.procs,
          .length = length,
          .each = how.gap_ms == 0,
          .longest_start = how.threads == fault::none ? 5 : 60,
          .longest_gap = std::chrono::milliseconds(how.gap_ms)};
}

std::size_t resident_bytes() {
  std::ifstream in("/proc/self/statm");
  std::size_t all = 0, resident = 0;
  in >> all >> resident;
  return resident * static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
}

struct memory {
  std::size_t used, resident;
};
// The same by threads, one each: what the machine, libc's locks and the kernel do by themselves.
void thread_world(const command& how) {
  crowd all(how);
  watch watcher(watch_for(how, from_seconds(how.seconds)), all.counters, [&] { all.stop = true; });
  std::vector<std::jthread> threads;
  for (std::size_t i = 0; i < how.goroutines; ++i) threads.emplace_back([&all, i] { all.work(i); });
  std::printf("  threads: worst gap %.1f ms\n", 1e3 * seconds(watcher.result().worst_gap));
}

memory memory_now() { return {mallinfo2().uordblks, resident_bytes()}; }

// All goroutines end. What is left of memory then.
memory joined_world(const command& how, clock::duration length) {
  auto* all = new crowd(how);
  sight seen;
  clock::time_point ended;
  weft::run({.maxprocs = how.procs}, [&] {
    make_threads_suffer(how.threads);
    watch watcher(watch_for(how, length), all->counters, [all] { all->stop = true; });
    weft::wait_group done;
    start(*all, done);
    if (how.threads != fault::none) use_up_threads(*all, done);
    done.wait();
    seen = watcher.result();
    make_threads_suffer(fault::none);
    ended = clock::now();
  });
  const auto end_took = clock::now() - ended;
  std::uint64_t sum = 0;
  for (const counter& c : all->counters) sum += c.value;
  if (sum != all->total) fail("lost: " + std::to_string(sum) + " counted, " + std::to_string(all->total) + " in sum");
  delete all;
  malloc_trim(0);
  const memory left = memory_now();
  std::printf("  %d s, %llu steps, worst gap %.1f ms, end %.1f ms; %.1f MiB used, %.1f MiB resident\n", seen.windows,
              static_cast<unsigned long long>(sum), 1e3 * seconds(seen.worst_gap), 1e3 * seconds(end_took),
              static_cast<double>(left.used) / (1 << 20), static_cast<double>(left.resident) / (1 << 20));
  std::fflush(stdout);
  if (how.gap_ms != 0 && seen.worst_gap > std::chrono::milliseconds(how.gap_ms))
    fail("a gap of " + std::to_string(1e3 * seconds(seen.worst_gap)) + " ms");
  return left;
}

void abandoned_world(const command& how) {
  auto* all = new crowd(how);
  clock::time_point ended;
  weft::run({.maxprocs = how.procs}, [&] {
    const weft::wait_group done;
    start(*all, done);
    weft::this_goroutine::sleep_for(100ms);
    ended = clock::now();
  });
  std::printf("  abandoned in full run: end %.1f ms\n", 1e3 * seconds(clock::now() - ended));
}

// ---- rounds ----

// Caches of threads, arenas and stacks fill in the first worlds. What grows in all later ones is a leak.
void check_leaks(const std::vector<memory>& rounds) {
  constexpr std::size_t some_used = 4 << 20, some_resident = 64 << 20;
  if (rounds.size() < 4) return;
  const auto middle = rounds.begin() + static_cast<std::ptrdiff_t>(rounds.size() / 2);
  const auto least = [](auto from, auto to, auto member) {
    return std::ranges::min(std::ranges::subrange(from, to), {}, member).*member;
  };
  for (const auto& [member, some, name] : {std::tuple{&memory::used, some_used, "allocated"},
                                          std::tuple{&memory::resident, some_resident, "resident"}}) {
    const std::size_t first = least(rounds.begin() + 1, middle, member), then = least(middle, rounds.end(), member);
    if (then > first + some)
      fail("leak: " + std::to_string(first >> 10) + " KiB " + name + ", later " + std::to_string(then >> 10));
  }
}

void soak(const command& how) {
  const double length = std::clamp(how.seconds / 5, 1.0, 10.0);
  const auto start = clock::now();
  std::vector<memory> rounds;
  do rounds.push_back(joined_world(how, from_seconds(length)));
  while (seconds(clock::now() - start) + length / 2 < how.seconds);
  if (how.threads != fault::none) std::printf("  %d creations of threads failed or hung\n", faults_suffered());
  check_leaks(rounds);
  abandoned_world(how);
}

// ---- pure computation ----

std::int64_t thread_time_ns() {
  timespec t{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return t.tv_sec * 1'000'000'000LL + t.tv_nsec;
}

[[gnu::noinline]] void compute(std::int64_t rounds) {
  for (volatile std::int64_t n = 0; n < rounds;) n = n + 1;
}

// How many rounds take a millisecond: the fastest of some tries.
std::int64_t calibrate() {
  constexpr std::int64_t rounds = 1'000'000;
  std::int64_t best = INT64_MAX;
  for (int i = 0; i < 5; ++i) {
    const std::int64_t begun = thread_time_ns();
    compute(rounds);
    best = std::min(best, thread_time_ns() - begun);
  }
  return rounds * 1'000'000 / best;
}

void compute_all(const command& how) {
  const std::int64_t rounds = calibrate();
  std::vector<counter> ended(1);
  const auto begun = clock::now();
  weft::run({.maxprocs = how.procs}, [&] {
    const weft::wait_group all;
    for (std::size_t i = 0; i < how.goroutines; ++i)
      all.go([&] {
        compute(rounds);
        ended[0].value.fetch_add(1, std::memory_order_relaxed);
      });
    all.wait();
    weft::print_schedtrace(1);
  });
  if (ended[0].value != how.goroutines) fail("not all computations have ended");
  std::printf("  %zu computations of 1 ms: %.1f s\n", how.goroutines, seconds(clock::now() - begun));
}

// ---- the command line ----

void print_help() {
  std::printf(
      "usage: weft-soak [OPTION...] WORKLOAD...\n"
      "\n"
      "Runs goroutines that do operations of the workloads at random, and checks that each gets on in every\n"
      "second, that nothing is lost, nothing leaks, and that the process ends. Workloads:\n\n");
  for (const operation& o : operations()) std::printf("  %-11s %s\n", o.name, o.shows);
  std::printf(
      "  mix         all of these but the large blocks and the sleep\n"
      "  compute     by itself: goroutines of 1 ms of pure computation, all of them at once\n"
      "\n"
      "  --procs N        processors (2)\n"
      "  --seconds S      how long (10)\n"
      "  --goroutines N   how many (64; compute: %zu)\n"
      "  --arenas N       at most so many arenas of malloc\n"
      "  --gap MS         not each goroutine in every second, but never so long without progress of any\n"
      "  --threads fails|hangs   so does pthread_create, at random\n"
      "  --plain          threads instead of goroutines, to compare\n"
      "\n"
      "Exit status: 0, 1 if something is wrong, 2 for a wrong argument or after a dump.\n",
      pure_computations);
}

[[noreturn]] void refuse(std::string_view what, std::string_view word) {
  std::fprintf(stderr, "weft-soak: %.*s '%.*s'; see --help\n", static_cast<int>(what.size()), what.data(),
               static_cast<int>(word.size()), word.data());
  std::exit(usage_error);
}

template <class T>
void read_number(T& to, std::string_view option, const char* text) {
  char* end = nullptr;
  const double value = text != nullptr ? std::strtod(text, &end) : 0;
  if (text == nullptr || end == text || *end != 0 || value <= 0 || value > 1e6) refuse("a number for", option);
  to = static_cast<T>(value);
}

void choose(command& how, std::string_view name) {
  bool found = false;
  for (const operation& o : operations()) {
    const int share = name == o.name ? 1 : name == "mix" ? o.share : 0;
    if (share == 0) continue;
    how.chosen.insert(how.chosen.end(), static_cast<std::size_t>(share), &o);
    found = true;
  }
  if (!found) refuse("unknown argument", name);
}

fault fault_named(const char* name) {
  const std::string_view text = name != nullptr ? name : "";
  if (text == "fails") return fault::fails;
  if (text == "hangs") return fault::hangs;
  refuse("--threads", text);
}

command parse(char** words) {
  command how;
  std::size_t goroutines = 0;
  for (++words; *words != nullptr; ++words) {
    const std::string_view word = *words;
    if (word == "--help" || word == "-h") {
      print_help();
      std::exit(0);
    }
    if (word == "compute") how.computes = true;
    else if (word == "--plain") how.plain = true;
    else if (!word.starts_with("--")) choose(how, word);
    else if (words[1] == nullptr) refuse("no value for", word);
    else if (word == "--procs") read_number(how.procs, word, *++words);
    else if (word == "--seconds") read_number(how.seconds, word, *++words);
    else if (word == "--goroutines") read_number(goroutines, word, *++words);
    else if (word == "--arenas") read_number(how.arenas, word, *++words);
    else if (word == "--gap") read_number(how.gap_ms, word, *++words);
    else if (word == "--threads") how.threads = fault_named(*++words);
    else refuse("unknown option", word);
  }
  if (how.computes == !how.chosen.empty()) refuse("compute, or other workloads, but not", "both or none");
  if (goroutines != 0) how.goroutines = goroutines;
  else if (how.computes) how.goroutines = pure_computations;
  return how;
}

}  // namespace
}  // namespace soak

int main(int, char** argv) {
  const soak::command how = soak::parse(argv);
  if (how.arenas != 0) mallopt(M_ARENA_MAX, how.arenas);
  if (how.computes) soak::compute_all(how);
  else if (how.plain) soak::thread_world(how);
  else soak::soak(how);
  std::puts("ok");
}
