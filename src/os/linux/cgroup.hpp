// cgroup.hpp — how many CPUs the control groups above this process allow.
//
// Go looks at the process's own cgroup; we look at all its ancestors as far as the mount shows them: the
// smallest quota counts. Rounded up to whole CPUs, at least 2 (with one, a goroutine that computes would
// block everybody until the next throttling period), and 0 for no limit. Unreadable or malformed files mean
// no limit.
//
// find() looks up paths and opens the limit files, once; read() costs a pread(2) a file and can be repeated
// every second. No allocation but a mapping during find(), no stdio. Callers: the start of a run, then the
// helper thread.
#pragma once
#include <cstddef>

namespace weft::inline v0::rt::os {

class cgroup_cpu_limit {
 public:
  // `root` stands before every path: a directory with made-up files, in tests. It must outlive the object.
  explicit constexpr cgroup_cpu_limit(const char* root = "") noexcept : root_(root) {}
  cgroup_cpu_limit(const cgroup_cpu_limit&) = delete;
  cgroup_cpu_limit& operator=(const cgroup_cpu_limit&) = delete;

  void look_below(const char* root) noexcept { root_ = root; }
  void forget() noexcept;       // closes the files. No destructor: a helper thread may outlive statics
  bool find() noexcept;         // again: after a move to another cgroup. False: there is nothing to read
  int read() const noexcept;    // 0: no limit. Any thread, but not beside find()
  int levels() const noexcept { return levels_; }   // cgroups with a limit file

 private:
  struct limit_files { int quota, period; };   // v2: both are in cpu.max, `period` is -1
  static constexpr int most_levels = 32;       // the nearest ones, beyond

  int open_file(const char* directory, std::size_t n, const char* name) const noexcept;

  const char* root_;
  int levels_ = 0;
  limit_files files_[most_levels] = {};
};

// The process's own limit; finds the files at the first call. Calls must not overlap.
int cgroup_cpus() noexcept;
void cgroup_find_again() noexcept;

// The rule of default_maxprocs() (os.hpp).
int limited_maxprocs(int cpus, int cgroup_cpus) noexcept;

// For tests, before the first run: a machine of so many CPUs (0: as many as there are), with the cgroup files
// below `root`.
void pretend_machine(const char* root, int cpus) noexcept;

}  // namespace weft::inline v0::rt::os
