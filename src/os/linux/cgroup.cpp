// cgroup.cpp — finding the limit files of a cgroup and of everything above it, and reading them.
#include "os/linux/cgroup.hpp"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include <algorithm>
#include <climits>
#include <new>

#include "os/linux/cgroup_parse.hpp"
#include "os/linux/syscall.hpp"
#include "os/os.hpp"

namespace weft::inline v0::rt::os {
namespace {

struct scratch {   // 72 KiB, mapped while find() runs
  char lines[line_limit];
  cgroup_path group, directory;
};

void close_file(int fd) noexcept {
  if (fd >= 0) system_call(SYS_close, fd);
}

class limit_text {   // the contents of a limit file; none is longer than two numbers
 public:
  explicit limit_text(int fd) noexcept {
    long n;
    do n = system_call(SYS_pread64, fd, text_, sizeof text_, 0);
    while (n == -EINTR);
    size_ = n > 0 ? static_cast<std::size_t>(n) : 0;
  }
  std::string_view view() const noexcept { return {text_, size_}; }

 private:
  char text_[64];
  std::size_t size_;
};

}  // namespace

int cgroup_cpu_limit::open_file(const char* directory, std::size_t n, const char* name) const noexcept {
  char path[2 * path_limit];
  std::size_t root_size = strlen(root_), name_size = strlen(name);
  if (root_size + n + 1 + name_size + 1 > sizeof path) return -1;
  char* p = path;
  p = static_cast<char*>(mempcpy(p, root_, root_size));
  p = static_cast<char*>(mempcpy(p, directory, n));
  *p++ = '/';
  memcpy(p, name, name_size + 1);
  return static_cast<int>(system_call(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC));
}

void cgroup_cpu_limit::forget() noexcept {
  for (int i = 0; i < levels_; ++i) {
    close_file(files_[i].quota);
    close_file(files_[i].period);
  }
  levels_ = 0;
}

bool cgroup_cpu_limit::find() noexcept {
  forget();
  void* pages = allocate_pages(sizeof(scratch));
  if (!pages) return false;
  auto& s = *new (pages) scratch;

  constexpr char proc_self[] = "/proc/self";
  auto parse = [&](const char* name, auto&& parser) {
    int fd = open_file(proc_self, sizeof proc_self - 1, name);
    if (fd < 0) return false;
    line_reader lines(fd, s.lines, sizeof s.lines);
    parsed result = parser(lines);
    close_file(fd);
    return result == parsed::ok;
  };
  cgroup_version version = cgroup_version::none;
  std::size_t mount_size = 0;
  bool known =
      parse("cgroup", [&](line_reader& lines) { return parse_cpu_cgroup(lines, s.group, version); }) &&
      parse("mountinfo", [&](line_reader& lines) {
        return parse_cpu_mount(lines, s.group.view(), version, s.directory, mount_size);
      });

  // From the cgroup itself up to the mount point. Not every level has a file: the root has none, and below it
  // the controller may be switched off.
  for (std::size_t n = s.directory.size; known && levels_ < most_levels;) {
    bool v2 = version == cgroup_version::v2;
    limit_files f{open_file(s.directory.text, n, v2 ? "cpu.max" : "cpu.cfs_quota_us"),
                  v2 ? -1 : open_file(s.directory.text, n, "cpu.cfs_period_us")};
    if (f.quota >= 0 && (v2 || f.period >= 0)) {
      files_[levels_++] = f;
    } else {
      close_file(f.quota);
      close_file(f.period);
    }
    if (n <= mount_size) break;
    do --n;
    while (n > mount_size && s.directory.text[n] != '/');
  }
  free_pages(pages, sizeof(scratch));
  return levels_ > 0;
}

int cgroup_cpu_limit::read() const noexcept {
  std::int64_t smallest = INT64_MAX;
  for (int i = 0; i < levels_; ++i) {
    cpu_quota limit;
    limit_text quota(files_[i].quota);
    if (files_[i].period >= 0) {
      limit_text period(files_[i].period);
      if (parse_v1_number(quota.view(), limit.quota) != parsed::ok) continue;
      if (parse_v1_number(period.view(), limit.period) != parsed::ok) continue;
    } else if (parse_v2_limit(quota.view(), limit) != parsed::ok) {
      continue;
    }
    if (limit.limited()) smallest = std::min(smallest, limit.cpus_rounded_up());
  }
  if (smallest == INT64_MAX) return 0;
  return static_cast<int>(std::clamp<std::int64_t>(smallest, 2, INT_MAX));
}

// ---- the process's own ----

namespace {
constinit cgroup_cpu_limit own_limit;
constinit bool own_limit_sought = false;
constinit int pretended_cpus = 0;
}  // namespace

void cgroup_find_again() noexcept {
  own_limit_sought = true;
  own_limit.find();
}

int cgroup_cpus() noexcept {
  if (!own_limit_sought) cgroup_find_again();
  return own_limit.read();
}

int limited_maxprocs(int cpus, int cgroup_cpus) noexcept {
  cpus = std::max(cpus, 1);
  return cgroup_cpus > 0 ? std::min(cpus, cgroup_cpus) : cpus;
}

int default_maxprocs(bool respect_cgroups) noexcept {
  int cpus = pretended_cpus > 0 ? pretended_cpus : affinity_cpus();
  return limited_maxprocs(cpus, respect_cgroups ? cgroup_cpus() : 0);
}

void pretend_machine(const char* root, int cpus) noexcept {
  pretended_cpus = cpus;
  own_limit.look_below(root);
  cgroup_find_again();
}

}  // namespace weft::inline v0::rt::os
