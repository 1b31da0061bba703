// main.cpp — weft-bench: the table of workloads and the command line. Every workload has a world of its own.
#include <algorithm>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "weft/runtime.hpp"
#include "workloads.hpp"

namespace bench {

std::span<const workload> all() noexcept {
  using enum kind;
  static constexpr workload table[] = {
      {"spawn", standard, "start 2,000,000 goroutines that count down a wait group", spawn},
      {"spawn_join", standard, "500,000 times: start one, wait for its end", spawn_join},
      {"yield_1", standard, "one goroutine, 10,000,000 yields", yield_1},
      {"yield_2", standard, "two goroutines share 10,000,000 yields", yield_2},
      {"yield_1000", standard, "1,000 goroutines share 10,000,000 yields", yield_1000},
      {"chan_pingpong", standard, "2,000,000 round trips, unbuffered", chan_pingpong},
      {"chan_buffered", standard, "10,000,000 values from one to one, buffer of 128", chan_buffered},
      {"chan_mpmc", standard, "4 producers, 4 consumers, buffer of 128, 4,000,000 values", chan_mpmc},
      {"select_pingpong", standard, "1,000,000 round trips through two-case selects", select_pingpong},
      {"ring_1000", standard, "a token through 1,000 goroutines, 2,000,000 hops", ring_1000},
      {"skynet_1m", standard, "a tree of 1,111,111 goroutines with a million leaves", skynet_1m},
      {"fib_25", standard, "parallel Fibonacci, 242,785 goroutines", fib_25},
      {"mutex_16", standard, "16 goroutines, one mutex, 4,000,000 lockings", mutex_16},
      {"timers_100k", standard, "100,000 goroutines, each sleeps ten times 1 to 20 ms", timers_100k},
      {"preempt_ticker", standard, "a 1 ms sleep beside loops that never yield: how late", preempt_ticker},
      {"idle_handoff", standard, "from a waking sleeper to a receiver on an idle process", idle_handoff},
      {"tcp_echo_100", standard, "100 connections over loopback, 400,000 round trips of 64 bytes",
       tcp_echo_100},
      {"syscall_short", standard, "5,000,000 announced getppid calls", syscall_short},
      {"blocking_64", standard, "yields in 1 s beside 64 goroutines in 1 ms blocking calls", blocking_64},
      {"sieve_1000", standard, "the prime sieve up to the 1,000th prime", sieve_1000},
      {"mem_1m", standard, "1,000,000 parked goroutines: bytes each, and what stays", mem_1m},
      {"mutex_1", tuning, "one goroutine, 20,000,000 uncontended lockings", mutex_1},
      {"chan_local", tuning, "20,000,000 values from a goroutine to itself", chan_local},
      {"select_local", tuning, "a two-case select whose first case is ready, 10,000,000 times", select_local},
      {"announced_call", tuning, "what weft::blocking() adds to a getppid call", announced_call},
      {"locked_pingpong", tuning, "200,000 round trips, one side locked to its thread", locked_pingpong},
      {"compute_64", tuning, "64 loops that share the processors: what it costs", compute_64},
      {"idle_cpu", tuning, "CPU while 1,000 goroutines wait and nothing happens", idle_cpu},
      {"sleepers_1m", tuning, "CPU while 1,000,000 goroutines are in one 10 s sleep each", sleepers_1m},
  };
  return table;
}

namespace {

constexpr int usage_error = 2;

struct command_line {
  int procs = 0;
  int repeat = 1;
  std::vector<const workload*> chosen;
};

void print_help() {
  std::puts(
      "usage: weft-bench [--procs N] [--repeat R] [--list] [--help] [NAME...]\n"
      "\n"
      "Runs the workloads named, by default those of bench/peers/README.md, one after the other,\n"
      "and prints one line for each:  NAME procs=N ops=K ns_per_op=X [key=value ...]\n"
      "\n"
      "  --procs N    processors to use, 1 to 4096 (default: as any Weft program)\n"
      "  --repeat R   run every workload R times\n"
      "  --list       print the names and what they do\n"
      "\n"
      "Exit status: 0, 1 for a wrong result, 2 for a wrong command line.");
}

void print_list() {
  for (const workload& w : all()) {
    const char* mark = w.what == kind::tuning ? "(by name) " : "";
    std::printf("%-16s %s%s\n", w.name, mark, w.about);
  }
}

[[noreturn]] void refuse(std::string_view what, std::string_view word, std::string_view allowed) {
  std::fprintf(stderr, "weft-bench: %.*s '%.*s'; %.*s\n", static_cast<int>(what.size()), what.data(),
               static_cast<int>(word.size()), word.data(), static_cast<int>(allowed.size()), allowed.data());
  std::exit(usage_error);
}

int number(std::string_view option, std::string_view text, int highest) {
  int n = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), n);
  if (error != std::errc{} || end != text.data() + text.size() || n < 1 || n > highest)
    refuse(option, text, "allowed: 1 to " + std::to_string(highest));
  return n;
}

const workload& named(std::string_view name) {
  const auto found = std::ranges::find_if(all(), [&](const workload& w) { return w.name == name; });
  if (found == all().end()) refuse("unknown workload", name, "--list shows all");
  return *found;
}

command_line parse(int argc, char** argv) {
  command_line line;
  for (int i = 1; i < argc; ++i) {
    std::string_view word = argv[i];
    const bool takes_number = word.starts_with("--procs") || word.starts_with("--repeat");
    if (word == "--help" || word == "-h") {
      print_help();
      std::exit(0);
    } else if (word == "--list") {
      print_list();
      std::exit(0);
    } else if (takes_number) {
      const auto equals = word.find('=');
      const std::string_view option = word.substr(0, equals);
      if (option != "--procs" && option != "--repeat") refuse("unknown option", word, "see --help");
      if (equals == word.npos && i + 1 == argc) refuse("no number after", option, "see --help");
      const std::string_view value = equals == word.npos ? argv[++i] : word.substr(equals + 1);
      if (option == "--procs") line.procs = number(option, value, 4096);
      else line.repeat = number(option, value, 1'000'000);
    } else if (word.starts_with("-")) {
      refuse("unknown option", word, "see --help");
    } else {
      line.chosen.push_back(&named(word));
    }
  }
  if (line.chosen.empty())
    for (const workload& w : all())
      if (w.what == kind::standard) line.chosen.push_back(&w);
  return line;
}

}  // namespace
}  // namespace bench

int main(int argc, char** argv) {
  const bench::command_line line = bench::parse(argc, argv);
  for (int turn = 0; turn < line.repeat; ++turn)
    for (const bench::workload* w : line.chosen) weft::run({.maxprocs = line.procs}, [w] { w->run(); });
}
