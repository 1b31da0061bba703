// main.cpp — weft-unstoppable: one processor, a ticker, and beside it code that nobody can ask to stop.
//
// Each case runs for one second beside a goroutine that ticks every 10 ms. One line each: how many ticks
// came, and the longest time without one.
#include <signal.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ticker.hpp"
#include "unstoppable.hpp"
#include "weft/weft.hpp"

namespace unstoppable {

using namespace std::chrono_literals;

namespace {

constexpr int usage_error = 2;
constexpr int least_ticks = 90;
constexpr auto longest_gap = 50ms;
constexpr auto least_time = 900ms;   // a case that ends sooner was not stuck
constexpr std::size_t stack_size = 8 << 20;   // std::regex needs some for each letter

struct stuck {
  const char* name;
  const char* shows;
  void (*run)();
};

constexpr stuck cases[] = {
    {"loop", "an endless loop", loop},
    {"masked", "an endless loop with SIGURG blocked", loop_without_signals},
    {"malloc", "malloc and free in 64 goroutines", malloc_storm},
    {"printf", "printf to a pipe that nobody reads", printf_to_full_pipe},
    {"mutex", "a std::mutex held asleep, others waiting", mutex_held_asleep},
    {"dns", "getaddrinfo, the name server silent", name_server},
    {"read", "read from an empty pipe", read_empty_pipe},
    {"regex", "std::regex on a pattern that explodes", regex},
    {"sqlite", "SQLite, another process has the lock", sqlite_lock},
    {"fault", "a page fault that is served late", page_fault},
    {"fork", "fork and exec in the middle of malloc", fork_in_storm},
};

enum class verdict { held, failed, left_out };

double milliseconds(clock::duration d) { return std::chrono::duration<double, std::milli>(d).count(); }

// What went wrong with the case itself, if anything: then its ticks prove nothing.
std::optional<std::string> run_stuck(const stuck& what) try {
  const auto start = clock::now();
  weft::spawn({.name = what.name, .stack_size = stack_size}, what.run).join();
  const auto took = clock::now() - start;
  if (took >= least_time) return std::nullopt;
  return "it was not stuck: over after " + std::to_string(took / 1ms) + " ms";
} catch (const skipped&) {
  throw;
} catch (const std::exception& error) {
  return error.what();
}

verdict judge(const stuck& what) try {
  ticking beside;
  if (const auto error = run_stuck(what)) {
    std::printf("FAILED: %s\n", error->c_str());
    return verdict::failed;
  }
  const rhythm seen = beside.until_done();
  const bool holds = seen.ticks >= least_ticks && seen.worst_gap < longest_gap;
  std::printf("%3d of %d ticks, worst gap %6.1f ms  %s\n", seen.ticks, expected_ticks,
              milliseconds(seen.worst_gap), holds ? "ok" : "FAILED");
  return holds ? verdict::held : verdict::failed;
} catch (const skipped& why) {
  std::printf("skipped: %s\n", why.what());
  return verdict::left_out;
}

int run_all(const std::vector<const stuck*>& chosen) {
  std::printf("One processor. Beside each of these, for a second, a goroutine ticks every 10 ms.\n\n");
  int held = 0, left_out = 0;
  std::string failed;
  for (const stuck* what : chosen) {
    std::printf("%-7s %-41s ", what->name, what->shows);
    std::fflush(stdout);   // also before a fork
    switch (judge(*what)) {
      case verdict::held: ++held; break;
      case verdict::left_out: ++left_out; break;
      case verdict::failed: failed += std::string(" ") + what->name; break;
    }
  }
  std::printf("\n%d held", held);
  if (left_out != 0) std::printf(", %d skipped", left_out);
  if (!failed.empty()) std::printf(", FAILED:%s\n", failed.c_str());
  else std::puts(held != 0 ? ": nothing stops the others." : ": nothing was shown.");
  return failed.empty() ? 0 : 1;
}

void print_help() {
  std::printf(
      "usage: weft-unstoppable [--help] [CASE...]\n"
      "\n"
      "Runs code that keeps its thread for a second and knows nothing of Weft, on one processor, beside a\n"
      "goroutine that ticks every 10 ms. A case holds when at least %d of %d ticks came and never %d ms\n"
      "passed without one. Without arguments, all of them:\n\n",
      least_ticks, expected_ticks, static_cast<int>(longest_gap / 1ms));
  for (const stuck& c : cases) std::printf("  %-7s %s\n", c.name, c.shows);
  std::printf("\nExit status: 0, 1 if one failed, 2 for a wrong argument.\n");
}

const stuck& named(std::string_view name) {
  const auto found = std::ranges::find(cases, name, [](const stuck& c) { return std::string_view(c.name); });
  if (found != std::end(cases)) return *found;
  std::fprintf(stderr, "weft-unstoppable: unknown argument '%.*s'; see --help\n",
               static_cast<int>(name.size()), name.data());
  std::exit(usage_error);
}

std::vector<const stuck*> parse(int argc, char** argv) {
  std::vector<const stuck*> chosen;
  for (int i = 1; i < argc; ++i) {
    const std::string_view word = argv[i];
    if (word == "--help" || word == "-h") {
      print_help();
      std::exit(0);
    }
    chosen.push_back(&named(word));
  }
  if (chosen.empty())
    for (const stuck& c : cases) chosen.push_back(&c);
  return chosen;
}

}  // namespace
}  // namespace unstoppable

int main(int argc, char** argv) {
  if (argc == 3 && std::string_view(argv[1]) == "--hold-sqlite-lock")   // by sqlite.cpp
    return unstoppable::hold_sqlite_lock(argv[2]);
  const auto chosen = unstoppable::parse(argc, argv);
  signal(SIGPIPE, SIG_IGN);   // a write to a pipe that nobody reads is to return
  return weft::run({.maxprocs = 1}, [&] { return unstoppable::run_all(chosen); });
}
