// machine.cpp — numbers: how they are written, and what the machine has left.
#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <limits>

#include "tour.hpp"

namespace tour {

double seconds(clock::duration d) { return std::chrono::duration<double>(d).count(); }
double milliseconds(clock::duration d) { return seconds(d) * 1e3; }
double nanoseconds_each(clock::duration d, long n) { return seconds(d) * 1e9 / static_cast<double>(n); }

std::string grouped(long n) {
  std::string digits = std::to_string(n);
  for (auto at = static_cast<long>(digits.size()) - 3; at > 0; at -= 3)
    digits.insert(static_cast<std::size_t>(at), ",");
  return digits;
}

namespace {

constexpr std::int64_t unlimited = std::numeric_limits<std::int64_t>::max();

// "NAME:   123 kB" of a /proc file, in bytes; `otherwise` if it is not there.
std::int64_t kernel_figure(const char* path, const std::string& name, std::int64_t otherwise) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);)
    if (line.starts_with(name)) return std::atoll(line.c_str() + name.size()) * 1024;
  return otherwise;
}

std::int64_t first_number(const std::string& path, std::int64_t otherwise) {
  std::ifstream file(path);
  std::int64_t value = 0;
  return file >> value ? value : otherwise;   // "max" is no number
}

// The smallest room that this process's cgroup (version 2) and those above it leave.
std::int64_t cgroup_room() {
  std::ifstream file("/proc/self/cgroup");
  std::string own;
  for (std::string line; std::getline(file, line);)
    if (line.starts_with("0::")) own = line.substr(3);
  std::int64_t room = unlimited;
  for (std::string path = own;; path.erase(path.rfind('/'))) {
    const std::string folder = "/sys/fs/cgroup" + path;
    const auto limit = first_number(folder + "/memory.max", unlimited);
    const auto used = first_number(folder + "/memory.current", 0);
    if (limit != unlimited) room = std::min(room, std::max<std::int64_t>(limit - used, 0));
    if (path.rfind('/') == path.npos) break;
  }
  return room;
}

}  // namespace

std::int64_t memory_available() {
  return std::min(kernel_figure("/proc/meminfo", "MemAvailable:", unlimited), cgroup_room());
}

std::int64_t memory_resident() { return kernel_figure("/proc/self/status", "VmRSS:", 0); }

}  // namespace tour
