// command.cpp — see command.hpp.
#include "command.hpp"

#include <cstdio>
#include <cstdlib>
#include <string_view>

namespace soak {

namespace {

constexpr int usage_error = 2;
constexpr std::size_t crowd_size = 64, pure_computations = 20'000;

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
      "  --goroutines N   how many (%zu; compute: %zu)\n"
      "  --arenas N       at most so many arenas of malloc\n"
      "  --gap MS         not each goroutine in every second, but never so long without progress of any\n"
      "  --threads fails|hangs   so does pthread_create, at random\n"
      "  --plain          threads instead of goroutines, to compare\n"
      "\n"
      "Exit status: 0, 1 if something is wrong, 2 for a wrong argument or after a dump.\n",
      crowd_size, pure_computations);
}

[[noreturn]] void refuse(std::string_view what, std::string_view word) {
  std::fprintf(stderr, "weft-soak: %.*s '%.*s'; see --help\n", static_cast<int>(what.size()), what.data(),
               static_cast<int>(word.size()), word.data());
  std::exit(usage_error);
}

template <class T>
void read_number(T& to, std::string_view option, const char* text) {
  char* end = nullptr;
  const double value = std::strtod(text, &end);
  if (end == text || *end != 0 || value <= 0 || value > 1e6) refuse("no number for", option);
  to = static_cast<T>(value);
}

void choose(command& how, std::string_view name) {
  const std::size_t before = how.chosen.size();
  for (const operation& o : operations())
    if (name == o.name || (name == "mix" && o.in_mix)) how.chosen.push_back(&o);
  if (how.chosen.size() == before) refuse("unknown argument", name);
}

fault fault_named(std::string_view name) {
  if (name == "fails") return fault::fails;
  if (name == "hangs") return fault::hangs;
  refuse("fails or hangs, not", name);
}

void read_option(command& how, std::string_view option, const char* value) {
  if (value == nullptr) refuse("no value for", option);
  if (option == "--procs") read_number(how.procs, option, value);
  else if (option == "--seconds") read_number(how.seconds, option, value);
  else if (option == "--goroutines") read_number(how.goroutines, option, value);
  else if (option == "--arenas") read_number(how.arenas, option, value);
  else if (option == "--gap") read_number(how.gap_ms, option, value);
  else if (option == "--threads") how.threads = fault_named(value);
  else refuse("unknown option", option);
}

}  // namespace

command parse(char** words) {
  command how;
  while (*++words != nullptr) {
    const std::string_view word = *words;
    if (word == "--help" || word == "-h") {
      print_help();
      std::exit(0);
    }
    if (word == "--plain") how.what = kind::threads;
    else if (word == "compute") how.what = kind::computation;
    else if (!word.starts_with("--")) choose(how, word);
    else read_option(how, word, *++words);
  }
  const bool computes = how.what == kind::computation;
  if (computes == !how.chosen.empty()) refuse("which workload?", computes ? "compute and others" : "none");
  if (how.goroutines == 0) how.goroutines = computes ? pure_computations : crowd_size;
  return how;
}

void fail(const std::string& what) {
  std::fprintf(stderr, "weft-soak: FAILED: %s\n", what.c_str());
  std::_Exit(1);
}

}  // namespace soak
