// field.hpp — what the field cases measure with.
//
// Limits: the reports' machines were large and quiet. Ours may have two cores, with other work on them, and
// the kernel may take a thread off its core for several milliseconds at any time. So a limit here is not "as
// good as it gets" but lies between what a sound scheduler shows on such a machine and what the fault shows,
// which mostly is seconds or for ever. Shares (CPU, switches, memory) are the process's own and keep tight
// limits; nothing is ever early.
#pragma once
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "weft_test.hpp"

namespace field {

using namespace std::chrono_literals;
using clock = std::chrono::steady_clock;
using weft_test::scaled;
using weft_test::slowdown;
using weft_test::with_procs;

inline void work_for(clock::duration d) {
  for (const auto end = clock::now() + d; clock::now() < end;) {
  }
}

inline double ms(clock::duration d) { return std::chrono::duration<double, std::milli>(d).count(); }

inline double percentile(std::vector<double> samples, double part) {
  if (samples.empty()) return 0;
  std::ranges::sort(samples);
  const auto at = static_cast<std::size_t>(part * static_cast<double>(samples.size()));
  return samples[std::min(samples.size() - 1, at)];
}
inline double largest(const std::vector<double>& samples) { return percentile(samples, 1); }
inline double smallest(const std::vector<double>& samples) { return percentile(samples, 0); }

// What the process used since the object was made.
class meter {
 public:
  meter() : start_(clock::now()), before_(usage()) {}
  double seconds() const { return ms(clock::now() - start_) / 1e3; }
  double cpu_seconds() const { return cpu(usage()) - cpu(before_); }
  // How many times more CPU `wanted` computing threads would have had on an empty machine: 1 if nobody else
  // computes.
  double crowding(int wanted) const {
    const auto cores = static_cast<int>(std::thread::hardware_concurrency());
    return std::max(1.0, seconds() * std::min(wanted, std::max(cores, 1)) / cpu_seconds());
  }
  double switches_per_second() const {
    const rusage now = usage();
    return static_cast<double>(now.ru_nvcsw - before_.ru_nvcsw) / seconds();
  }

 private:
  static rusage usage() {
    rusage r{};
    getrusage(RUSAGE_SELF, &r);
    return r;
  }
  static double cpu(const rusage& r) {
    return static_cast<double>(r.ru_utime.tv_sec + r.ru_stime.tv_sec) +
           static_cast<double>(r.ru_utime.tv_usec + r.ru_stime.tv_usec) / 1e6;
  }
  clock::time_point start_;
  rusage before_;
};

inline std::int64_t kernel_figure(const char* path, const std::string& name) {   // "NAME:  123 kB", in bytes
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);)
    if (line.starts_with(name)) return std::atoll(line.c_str() + name.size()) * 1024;
  return 0;
}
inline std::int64_t resident() { return kernel_figure("/proc/self/status", "VmRSS:"); }

}  // namespace field
