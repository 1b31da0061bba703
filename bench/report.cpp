// report.cpp — lines, percentiles, and the process's own figures from the kernel.
#include "report.hpp"

#include <sys/resource.h>
#include <sys/time.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>

#include "weft/runtime.hpp"

namespace bench {

namespace {

std::string fixed(double value, int decimals) {
  char text[64];
  std::snprintf(text, sizeof text, "%.*f", decimals, value);
  return text;
}

clock::duration duration_of(const timeval& t) {
  return std::chrono::seconds(t.tv_sec) + std::chrono::microseconds(t.tv_usec);
}

}  // namespace

report::report(std::string_view name) : line_(name) { figure("procs", weft::maxprocs()); }

report& report::ops(std::int64_t n, clock::duration took) {
  const double ns = std::chrono::duration<double, std::nano>(took).count();
  figure("ops", static_cast<double>(n));
  return figure("ns_per_op", ns / static_cast<double>(n), 1);
}

report& report::figure(std::string_view key, double value, int decimals) {
  line_.append(" ").append(key).append("=").append(fixed(value, decimals));
  return *this;
}

report::~report() {
  std::puts(line_.c_str());
  std::fflush(stdout);
}

double percentile(std::vector<double>& samples, double part) {
  if (samples.empty()) return 0;
  const auto last = samples.size() - 1;
  const auto at = std::min(last, static_cast<std::size_t>(part * static_cast<double>(samples.size())));
  std::nth_element(samples.begin(), samples.begin() + static_cast<std::ptrdiff_t>(at), samples.end());
  return samples[at];
}

memory memory_now() {
  memory now;
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("VmRSS:")) now.resident = std::atoll(line.c_str() + 6) * 1024;
    if (line.starts_with("VmPTE:")) now.page_tables = std::atoll(line.c_str() + 6) * 1024;
  }
  return now;
}

usage usage_now() {
  rusage r{};
  getrusage(RUSAGE_SELF, &r);
  return {duration_of(r.ru_utime) + duration_of(r.ru_stime), r.ru_nvcsw + r.ru_nivcsw};
}

void require(bool holds, std::string_view name, std::string_view what) {
  if (holds) return;
  std::fprintf(stderr, "weft-bench: %.*s: wrong result: %.*s\n", static_cast<int>(name.size()), name.data(),
               static_cast<int>(what.size()), what.data());
  std::exit(1);
}

}  // namespace bench
