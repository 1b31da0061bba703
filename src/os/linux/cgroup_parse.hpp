// cgroup_parse.hpp — the kernel's texts about control groups, read without allocation: /proc/self/cgroup,
// /proc/self/mountinfo, and the limit files.
//
// What does not look as documented (cgroups(7), proc_pid_mountinfo(5)) is `malformed`, never guessed at.
// All of it works on buffers of the caller.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace weft::inline v0::rt::os {

inline constexpr std::size_t path_limit = 4096;
// A line of mountinfo holds two paths and a source, each up to four times as long when escaped, before
// anything that we may skip; the rest of a longer line is dropped.
inline constexpr std::size_t line_limit = 4 * 4 * path_limit;

enum class parsed : std::uint8_t { ok, absent, malformed, too_long, unreadable };
enum class cgroup_version : std::uint8_t { none, v1, v2 };

// Lines of a file, through one buffer as long as the longest line worth seeing whole.
class line_reader {
 public:
  enum class step : std::uint8_t {
    whole,   // line() is a line, its newline removed
    cut,     // line() is only the beginning: too long for the buffer, or the file ended without a newline
    end,
    failed,  // the kernel refused to read
  };
  line_reader(int fd, char* buffer, std::size_t capacity) noexcept
      : fd_(fd), buffer_(buffer), capacity_(capacity) {}
  step next() noexcept;
  std::string_view line() const noexcept { return line_; }

 private:
  bool fill() noexcept;   // false: nothing more came

  int fd_;
  char* buffer_;
  std::size_t capacity_;
  std::size_t begin_ = 0, end_ = 0;   // the unread part of the buffer
  bool skipping_ = false;             // the line before was cut: its rest comes first
  bool failed_ = false;
  std::string_view line_;
};

// The path of a cgroup, or of its directory.
struct cgroup_path {
  char text[path_limit];
  std::size_t size = 0;
  std::string_view view() const noexcept { return {text, size}; }
};

// A quota in microseconds of CPU time per period.
struct cpu_quota {
  std::int64_t quota = -1;   // negative: no limit
  std::int64_t period = 0;
  bool limited() const noexcept { return quota >= 0 && period > 0; }
  std::int64_t cpus_rounded_up() const noexcept { return quota / period + (quota % period != 0); }
};

// cpu.cfs_quota_us and cpu.cfs_period_us; cpu.max.
parsed parse_v1_number(std::string_view text, std::int64_t& number) noexcept;
parsed parse_v2_limit(std::string_view text, cpu_quota& limit) noexcept;

bool lists_cpu(std::string_view comma_separated) noexcept;

// Undoes the octal escapes of mountinfo. In place is fine.
parsed unescape_path(std::string_view in, char* out, std::size_t capacity, std::size_t& size) noexcept;

// /proc/self/cgroup: which cgroup limits our CPU time. A v1 hierarchy with the cpu controller wins over v2,
// since a controller is mounted in one of them only.
parsed parse_cpu_cgroup(line_reader& lines, cgroup_path& group, cgroup_version& version) noexcept;

// /proc/self/mountinfo: the directory of that cgroup, and how much of it is the mount point. The first mount
// that can show the cgroup is taken.
parsed parse_cpu_mount(line_reader& lines, std::string_view group, cgroup_version version,
                       cgroup_path& directory, std::size_t& mount_size) noexcept;

}  // namespace weft::inline v0::rt::os
