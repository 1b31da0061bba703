// report.hpp — the one line a workload prints, and what it is measured with.
#pragma once
#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace bench {

using clock = std::chrono::steady_clock;

// NAME procs=N [ops=K ns_per_op=X] [key=value ...]
class report {
 public:
  explicit report(std::string_view name);
  report& ops(std::int64_t n, clock::duration took);
  report& figure(std::string_view key, double value, int decimals = 0);
  ~report();   // prints the line
  report(const report&) = delete;
  report& operator=(const report&) = delete;

 private:
  std::string line_;
};

// The value below which `part` of the samples lie. Reorders them; 0 for none.
double percentile(std::vector<double>& samples, double part);

struct memory {
  std::int64_t resident = 0;      // VmRSS, bytes
  std::int64_t page_tables = 0;   // VmPTE, bytes
};
memory memory_now();

// User and system time of the whole process, and how often its threads were switched.
struct usage {
  clock::duration cpu{};
  std::int64_t switches = 0;
};
usage usage_now();

// A wrong result ends the program with exit status 1: its time would mean nothing.
void require(bool holds, std::string_view name, std::string_view what);

}  // namespace bench
