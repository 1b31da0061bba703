// main.cpp — weft-tour: the parts in order, and exit status 1 when any evidence failed.
#include <cstdarg>
#include <cstdio>

#include "tour.hpp"
#include "weft/weft.hpp"

namespace tour {

namespace {

constexpr int text_columns = 96;
int failures = 0;

struct part {
  const char* title;
  void (*show)();
};

constexpr part parts[] = {
    {"A million goroutines", many_goroutines},
    {"Ping-pong", ping_pong},
    {"Work that is stolen", stealing},
    {"Select with a timeout", select_with_timeout},
    {"A hundred thousand sleepers", many_sleepers},
    {"The prime sieve", prime_sieve},
    {"Skynet", skynet},
    {"The scheduler from inside", schedtrace},
};

int tour() {
  const auto start = clock::now();
  const int processors = weft::maxprocs();
  std::printf("Weft: Go's scheduler for C++. %d processor%s.\n", processors, processors == 1 ? "" : "s");
  int number = 0;
  for (const part& p : parts) {
    std::printf("\n%d  %s\n", ++number, p.title);
    p.show();
    std::fflush(stdout);
  }
  std::printf("\n%d parts in %.1f s; ", number, seconds(clock::now() - start));
  if (failures == 0) std::puts("all evidence holds.");
  else std::printf("%d piece%s of evidence FAILED.\n", failures, failures == 1 ? "" : "s");
  return failures == 0 ? 0 : 1;
}

}  // namespace

void say(const char* format, ...) {
  std::fputs("   ", stdout);
  va_list arguments;
  va_start(arguments, format);
  std::vprintf(format, arguments);
  va_end(arguments);
  std::putchar('\n');
  std::fflush(stdout);
}

bool check(bool holds, const char* format, ...) {
  char text[512];
  va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  std::printf("   %-*s %s\n", text_columns, text, holds ? "ok" : "FAILED");
  std::fflush(stdout);
  if (!holds) ++failures;
  return holds;
}

}  // namespace tour

int main(int argc, char** argv) {
  if (argc > 1) {
    const bool help = std::string(argv[1]) == "--help" || std::string(argv[1]) == "-h";
    std::fprintf(help ? stdout : stderr,
                 "usage: weft-tour\n"
                 "Shows what Weft does, with evidence, in about 10 seconds. Exit status 1 if any fails.\n"
                 "WEFT_MAXPROCS=N sets the number of processors.\n");
    return help ? 0 : 2;
  }
  return weft::run(tour::tour);
}
