// main.cpp — weft-wc: one goroutine walks the tree, a bounded pool of them counts, one shows the progress.
//
//   walker --paths--> N counters --tallies--> main
//
// The channel of paths is bounded, so the walker never runs far ahead; each counter has one buffer and a
// table of bounded size: memory does not grow with the input.
#include <unistd.h>

#include <atomic>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "files.hpp"
#include "tally.hpp"
#include "weft/weft.hpp"

namespace wc {

using namespace std::chrono_literals;

namespace {

constexpr int usage_error = 2;
constexpr int top_words = 20;
constexpr int max_counters = 1024;

struct command_line {
  int counters = 0;   // 0: two for each processor
  std::vector<std::string> paths;
};

void print_help() {
  std::puts(
      "usage: weft-wc [-j N] [--help] [PATH...]\n"
      "\n"
      "Counts lines and words of all regular files at or below each PATH (default: the tree this\n"
      "program was built from), lists the 20 commonest words, and ends with the line\n"
      "LINES WORDS total, the same as the last of\n"
      "    find PATH -type f -print0 | LC_ALL=C wc -lw --files0-from=-\n"
      "Symbolic links are not followed.\n"
      "\n"
      "  -j N   goroutines that count, 1 to 1024 (default: two for each processor)\n"
      "\n"
      "Exit status: 0, 1 if something could not be read (it is named on standard error), 2 for a\n"
      "wrong option.");
}

[[noreturn]] void refuse(const std::string& what) {
  std::fprintf(stderr, "weft-wc: %s; see --help\n", what.c_str());
  std::exit(usage_error);
}

int counters_of(const std::string& text) {
  int n = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), n);
  if (error != std::errc{} || end != text.data() + text.size() || n < 1 || n > max_counters)
    refuse("-j '" + text + "': allowed are 1 to " + std::to_string(max_counters));
  return n;
}

// Where this file was compiled, two levels up; the current directory if that is gone.
std::string own_tree() {
  const auto root = std::filesystem::path(__FILE__).parent_path().parent_path().parent_path();
  std::error_code ignored;
  return std::filesystem::is_directory(root, ignored) && !root.empty() ? root.string() : ".";
}

command_line parse(int argc, char** argv) {
  command_line line;
  bool options = true;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    if (!options || word == "-" || !word.starts_with("-")) {
      line.paths.push_back(word);
    } else if (word == "--") {
      options = false;
    } else if (word == "--help" || word == "-h") {
      print_help();
      std::exit(0);
    } else if (word.starts_with("-j")) {
      if (word == "-j" && i + 1 == argc) refuse("no number after -j");
      line.counters = counters_of(word == "-j" ? argv[++i] : word.substr(2));
    } else {
      refuse("unknown option '" + word + "'");
    }
  }
  if (line.paths.empty()) line.paths.push_back(own_tree());
  return line;
}

struct progress {
  std::atomic<std::uint64_t> files{0}, bytes{0};
};

// A line on the terminal, ten times a second until `done` closes.
void show_progress(const progress& so_far, weft::chan<bool> done) {
  const auto start = std::chrono::steady_clock::now();
  for (bool more = true; more;)
    weft::select(weft::on_recv(done, [&](std::optional<bool>) { more = false; }),
                 weft::on_timeout(100ms, [&] {
                   const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - start;
                   const double megabytes = static_cast<double>(so_far.bytes.load()) / 1e6;
                   std::fprintf(stderr, "\r%llu files, %.0f MB, %.0f MB/s \033[K",
                                static_cast<unsigned long long>(so_far.files.load()), megabytes,
                                megabytes / passed.count());
                 }));
  std::fputs("\r\033[K", stderr);
}

void count_files(weft::chan<std::string> paths, weft::chan<tally> results, progress& so_far,
                 complaints& errors) {
  tally mine;
  reader files;
  for (const std::string& path : paths) {
    files.read(path, mine, so_far.bytes, errors);
    so_far.files.fetch_add(1, std::memory_order_relaxed);
  }
  results.send(std::move(mine));
}

void print(const tally& sum) {
  std::printf("the %d commonest words%s\n", top_words, sum.words().exact() ? "" : " (approximately)");
  for (const auto& [word, count] : sum.words().top(top_words))
    std::printf("%12llu  %s\n", static_cast<unsigned long long>(count), word.c_str());
  std::printf("\n%llu files, %llu bytes\n", static_cast<unsigned long long>(sum.sums().files),
              static_cast<unsigned long long>(sum.sums().bytes));
  std::printf("%llu %llu total\n", static_cast<unsigned long long>(sum.sums().lines),
              static_cast<unsigned long long>(sum.sums().words));
}

int count(const command_line& line) {
  auto paths = weft::make_chan<std::string>(256);
  auto results = weft::make_chan<tally>();
  auto finished = weft::make_chan<bool>();
  progress so_far;
  complaints errors;
  const int counters = line.counters != 0 ? line.counters : 2 * weft::maxprocs();

  weft::wait_group screen;
  if (isatty(STDERR_FILENO)) screen.go([&] { show_progress(so_far, finished); });
  weft::go([paths, &line, &errors] {   // of its own: it is still in close() when the last counter has ended
    for (const std::string& path : line.paths)
      walk(path, errors, [&](std::string file) { paths.send(std::move(file)); });
    paths.close();
  });
  for (int i = 0; i < counters; ++i) weft::go([&] { count_files(paths, results, so_far, errors); });

  tally sum;
  for (int i = 0; i < counters; ++i) sum.add(*results.recv());
  finished.close();
  screen.wait();

  print(sum);
  if (errors.count() == 0) return 0;
  std::fflush(stdout);
  std::fprintf(stderr, "weft-wc: %llu could not be read\n", static_cast<unsigned long long>(errors.count()));
  return 1;
}

}  // namespace
}  // namespace wc

int main(int argc, char** argv) {
  const wc::command_line line = wc::parse(argc, argv);
  return weft::run([&] { return wc::count(line); });
}
