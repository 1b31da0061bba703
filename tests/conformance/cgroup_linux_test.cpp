// cgroup_linux_test.cpp — Go's runtime/cgroup_linux_test.go over made-up files: which CPU limit gives how
// many processors.
//
// Go's machine must have four CPUs; here their number is an argument of the rule. The rows that need a
// running world (Environment, SetDefault, Update, DontUpdate) are in cgroup_runtime_test.cpp.
#include <gtest/gtest.h>
#include <sched.h>

#include <string>

#include "os/linux/cgroup.hpp"
#include "os/os.hpp"
#include "support/fake_cgroups.hpp"

namespace {

using namespace weft::rt::os;

// The processors that a process in a cgroup with this cpu.max gets on a machine of `cpus` CPUs.
int maxprocs(const std::string& cpu_max, int cpus, bool version_1 = false) {
  weft_test::fake_cgroups tree;
  if (version_1) {
    tree.v1("/test", "/sys/fs/cgroup/cpu");
    std::size_t space = cpu_max.find(' ');
    tree.v1_limit("/test", cpu_max.substr(0, space) + "\n", cpu_max.substr(space + 1) + "\n");
  } else {
    tree.v2("/test", "/", "/sys/fs/cgroup");
    tree.limit("/test", cpu_max + "\n");
  }
  cgroup_cpu_limit limit(tree.root());
  EXPECT_TRUE(limit.find());
  int procs = limited_maxprocs(cpus, limit.read());
  limit.forget();
  return procs;
}

TEST(cgroup_linux, TestCgroupGOMAXPROCS) {
  for (bool version_1 : {false, true}) EXPECT_EQ(maxprocs("300000 100000", 8, version_1), 3);
  EXPECT_EQ(default_maxprocs(false), affinity_cpus());   // containermaxprocs=0
}

TEST(cgroup_linux, TestCgroupGOMAXPROCSNoLimit) {
  EXPECT_EQ(maxprocs("max 100000", 8), 8);
  EXPECT_EQ(maxprocs("-1 100000", 8, true), 8);
}

TEST(cgroup_linux, TestCgroupGOMAXPROCSHigherThanNumCPU) {
  for (bool version_1 : {false, true}) EXPECT_EQ(maxprocs("900000 100000", 8, version_1), 8);
  EXPECT_EQ(maxprocs("300000 100000", 1), 1);   // a limit of 2 or more does not raise a single CPU
  EXPECT_EQ(maxprocs("50000 100000", 1), 1);
}

TEST(cgroup_linux, TestCgroupGOMAXPROCSRound) {
  struct {
    const char* quota;
    int procs;
  } cases[] = {{"200001", 3}, {"250000", 3}, {"299999", 3}, {"300000", 3},
               {"50000", 2},  {"100000", 2}, {"150000", 2}, {"0", 2}};
  for (auto& c : cases)
    for (bool version_1 : {false, true})
      EXPECT_EQ(maxprocs(std::string(c.quota) + " 100000", 8, version_1), c.procs) << c.quota;
}

TEST(cgroup_linux, TestCgroupGOMAXPROCSSchedAffinity) {
  cpu_set_t before, fewer;
  ASSERT_EQ(sched_getaffinity(0, sizeof before, &before), 0);
  int had = affinity_cpus();
  EXPECT_EQ(had, CPU_COUNT(&before));
  CPU_ZERO(&fewer);
  for (int cpu = 0; cpu < CPU_SETSIZE && CPU_COUNT(&fewer) < 2; ++cpu)
    if (CPU_ISSET(cpu, &before)) CPU_SET(cpu, &fewer);
  ASSERT_EQ(sched_setaffinity(0, sizeof fewer, &fewer), 0);
  int two = CPU_COUNT(&fewer);
  EXPECT_EQ(affinity_cpus(), two);
  EXPECT_EQ(maxprocs("300000 100000", affinity_cpus()), two);
  ASSERT_EQ(sched_setaffinity(0, sizeof before, &before), 0);
  EXPECT_EQ(affinity_cpus(), had);
}

}  // namespace
