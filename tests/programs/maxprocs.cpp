// maxprocs.cpp — a process in a made-up cgroup does what its arguments say, one after the other.
//
//   maxprocs ROOT CPUS ARGUMENT... run ARGUMENT...      CPUS 0: the machine's own number
//     limit=QUOTA    of CPU time, in percent of one CPU, or max
//     affinity=N     only the first N of the CPUs that the process may use now
//     run            the rest happens in the main goroutine
//     print          the number of processors
//     set=N default  set_maxprocs(N), set_default_maxprocs()
//     await=N        until there are N processors; prints them, or where they are after 30 s
//     stay=MS        sleeps, then prints the number of processors
#include <sched.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>

#include "os/linux/cgroup.hpp"
#include "weft/runtime.hpp"
#include "weft/this_goroutine.hpp"

namespace {

using namespace std::chrono_literals;

void set_limit(const std::string& root, const std::string& quota) {
  std::ofstream file(root + "/sys/fs/cgroup/test/cpu.max", std::ios::trunc);   // the same file: it is open
  file << (quota == "max" ? quota : quota + "000") << " 100000\n";
}

void set_affinity(int cpus) {
  cpu_set_t allowed, fewer;
  sched_getaffinity(0, sizeof allowed, &allowed);
  CPU_ZERO(&fewer);
  for (int cpu = 0; cpu < CPU_SETSIZE && CPU_COUNT(&fewer) < cpus; ++cpu)
    if (CPU_ISSET(cpu, &allowed)) CPU_SET(cpu, &fewer);
  sched_setaffinity(0, sizeof fewer, &fewer);
}

void print() { std::printf("%d\n", weft::maxprocs()); }

void await(int procs) {
  const auto end = std::chrono::steady_clock::now() + 30s;
  while (weft::maxprocs() != procs && std::chrono::steady_clock::now() < end)
    weft::this_goroutine::sleep_for(10ms);
  print();
}

void act(const std::string& root, const std::string& argument) {
  const std::size_t sign = argument.find('=');
  const std::string what = argument.substr(0, sign);
  const std::string value = sign == argument.npos ? "" : argument.substr(sign + 1);
  if (what == "limit") return set_limit(root, value);
  if (what == "affinity") return set_affinity(std::atoi(value.c_str()));
  if (what == "print") return print();
  if (what == "set") return static_cast<void>(weft::set_maxprocs(std::atoi(value.c_str())));
  if (what == "default") return weft::set_default_maxprocs();
  if (what == "await") return await(std::atoi(value.c_str()));
  if (what == "stay") {
    weft::this_goroutine::sleep_for(std::chrono::milliseconds(std::atoi(value.c_str())));
    return print();
  }
  std::fprintf(stderr, "maxprocs: what is %s?\n", argument.c_str());
  std::exit(1);
}

}  // namespace

int main(int argc, char** argv) {
  const std::string root = argv[1];
  weft::rt::os::pretend_machine(root.c_str(), std::atoi(argv[2]));
  int i = 3;
  for (; i < argc && std::string(argv[i]) != "run"; ++i) act(root, argv[i]);
  weft::run([&] {
    for (++i; i < argc; ++i) act(root, argv[i]);
  });
}
