// fake_cgroups.hpp — a directory with made-up /proc/self/cgroup, mountinfo and limit files.
#pragma once
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <string>

namespace weft_test {

class fake_cgroups {
 public:
  fake_cgroups() {
    std::string name = (std::filesystem::temp_directory_path() / "weft-cgroups-XXXXXX").string();
    root_ = mkdtemp(name.data());
  }
  ~fake_cgroups() { std::filesystem::remove_all(root_); }
  fake_cgroups(const fake_cgroups&) = delete;
  fake_cgroups& operator=(const fake_cgroups&) = delete;

  const char* root() const { return root_.c_str(); }

  // The process lies in `group`; the directory `mount_root` of the hierarchy is mounted at `mount_point`.
  void v2(const std::string& group, const std::string& mount_root, const std::string& mount_point) {
    mount_point_ = mount_point;
    write("/proc/self/cgroup", "0::" + group + "\n");
    write("/proc/self/mountinfo", ordinary + "25 21 0:22 " + mount_root + " " + mount_point +
                                      " rw,nosuid - cgroup2 cgroup2 rw\n");
  }
  void v1(const std::string& group, const std::string& mount_point) {
    mount_point_ = mount_point;
    write("/proc/self/cgroup", "4:memory:/m\n2:cpu,cpuacct:" + group + "\n0::/unified\n");
    write("/proc/self/mountinfo",
          ordinary + "25 21 0:22 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n"
                     "49 22 0:37 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n56 22 0:40 / " +
              mount_point + " rw - cgroup cgroup rw,cpu,cpuacct\n");
  }

  // `directory` is relative to the mount point.
  void limit(const std::string& directory, const std::string& text) {
    write(mount_point_ + directory + "/cpu.max", text);
  }
  void v1_limit(const std::string& directory, const std::string& quota, const std::string& period) {
    write(mount_point_ + directory + "/cpu.cfs_quota_us", quota);
    write(mount_point_ + directory + "/cpu.cfs_period_us", period);
  }

 private:
  void write(const std::string& path, const std::string& text) {
    std::filesystem::path full = root_ + path;
    std::filesystem::create_directories(full.parent_path());
    std::ofstream(full, std::ios::trunc) << text;   // the same file, for those who have it open
  }

  inline static const std::string ordinary =
      "22 1 8:1 / / rw,relatime - ext4 /dev/root rw\n20 22 0:19 / /proc rw,nosuid - proc proc rw\n";
  std::string root_, mount_point_;
};

}  // namespace weft_test
