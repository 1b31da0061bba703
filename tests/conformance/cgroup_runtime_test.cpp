// cgroup_runtime_test.cpp — the rows of Go's runtime/cgroup_linux_test.go that ask a running world. Each is a
// process of its own in a made-up cgroup, on a made-up machine of 8 CPUs: tests/programs/maxprocs.cpp.
#include <gtest/gtest.h>
#include <sched.h>

#include <string>
#include <vector>

#include "support/child.hpp"
#include "support/fake_cgroups.hpp"

namespace {

using strings = std::vector<std::string>;

// What the program prints that does this (see maxprocs.cpp), each number followed by a blank.
std::string procs(strings arguments, strings environment = {}, const char* cpus = "8") {
  weft_test::fake_cgroups tree;
  tree.v2("/test", "/", "/sys/fs/cgroup");
  tree.limit("/test", "max 100000\n");
  arguments.insert(arguments.begin(), {tree.root(), cpus});
  weft_test::child_result r = weft_test::run_program("maxprocs", arguments, environment);
  EXPECT_EQ(r.exit_status, 0) << r;
  EXPECT_EQ(r.err, "");
  for (char& c : r.out)
    if (c == '\n') c = ' ';
  return r.out;
}

// Longer than the second after which the runtime looks again.
constexpr const char* long_enough = "stay=2200";

TEST(cgroup_runtime, TestCgroupGOMAXPROCS) {
  EXPECT_EQ(procs({"run", "print"}), "8 ");
  EXPECT_EQ(procs({"limit=300", "run", "print"}), "3 ");
  EXPECT_EQ(procs({"limit=300", "run", "print", long_enough}, {"WEFTDEBUG=containermaxprocs=0"}), "8 8 ");
}

TEST(cgroup_runtime, TestCgroupGOMAXPROCSEnvironment) {
  EXPECT_EQ(procs({"limit=200", "run", "print"}, {"WEFT_MAXPROCS=3"}), "3 ");
}

TEST(cgroup_runtime, TestCgroupGOMAXPROCSSchedAffinity) {
  cpu_set_t here;
  ASSERT_EQ(sched_getaffinity(0, sizeof here, &here), 0);
  const std::string fewer = CPU_COUNT(&here) > 2 ? "2" : "1";
  EXPECT_EQ(procs({"limit=300", "affinity=" + fewer, "run", "print"}, {}, "0"), fewer + " ");
}

TEST(cgroup_runtime, TestCgroupGOMAXPROCSSetDefault) {
  EXPECT_EQ(procs({"run", "print", "limit=300", "default", "print"}), "8 3 ");
  EXPECT_EQ(procs({"run", "print", "limit=300", "default", "print"}, {"WEFT_MAXPROCS=5"}), "5 3 ");
  // It ends what set_maxprocs() began: the limit is followed again.
  const strings followed = {"run", "set=5", "print", "limit=300", "default", "print", "limit=400", "await=4"};
  EXPECT_EQ(procs(followed), "5 3 4 ");
}

TEST(cgroup_runtime, TestCgroupGOMAXPROCSUpdate) {
  EXPECT_EQ(procs({"run", "print", "limit=300", "await=3", "limit=max", "await=8"}), "8 3 8 ");
}

TEST(cgroup_runtime, TestCgroupGOMAXPROCSDontUpdate) {
  const strings to_3 = {"run", "print", "limit=300", long_enough};
  EXPECT_EQ(procs(to_3, {"WEFT_MAXPROCS=5"}), "5 5 ");
  EXPECT_EQ(procs(to_3, {"WEFTDEBUG=updatemaxprocs=0"}), "8 8 ");
  EXPECT_EQ(procs({"run", "set=5", "print", "limit=300", long_enough}), "5 5 ");
}

}  // namespace
