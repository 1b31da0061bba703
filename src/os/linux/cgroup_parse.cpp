// cgroup_parse.cpp — see the header; one function a text.
#include "os/linux/cgroup_parse.hpp"

#include <errno.h>
#include <string.h>

#include <charconv>

#include "os/linux/syscall.hpp"

namespace weft::inline v0::rt::os {

// ---- lines ----

bool line_reader::fill() noexcept {
  if (begin_ > 0) {
    memmove(buffer_, buffer_ + begin_, end_ - begin_);
    end_ -= begin_;
    begin_ = 0;
  }
  if (end_ == capacity_) return false;
  long n;
  do n = system_call(SYS_read, fd_, buffer_ + end_, capacity_ - end_);
  while (n == -EINTR);
  failed_ = n < 0;
  if (n <= 0) return false;
  end_ += static_cast<std::size_t>(n);
  return true;
}

line_reader::step line_reader::next() noexcept {
  for (;;) {
    std::string_view unread(buffer_ + begin_, end_ - begin_);
    if (std::size_t n = unread.find('\n'); n != unread.npos) {
      begin_ += n + 1;
      line_ = unread.substr(0, n);
      if (!skipping_) return step::whole;
      skipping_ = false;
    } else if (skipping_ && !unread.empty()) {
      begin_ = end_;
    } else if (!fill()) {
      if (failed_) return step::failed;
      line_ = {buffer_ + begin_, end_ - begin_};
      begin_ = end_;
      if (line_.empty()) return step::end;
      skipping_ = true;   // harmless when the file ends here
      return step::cut;
    }
  }
}

// ---- numbers ----

namespace {

// The whole of `text` and nothing else.
bool to_number(std::string_view text, std::int64_t& number) noexcept {
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size();
}

// Cuts `text` at the first `separator` and returns what stands before it. False when there is none.
bool cut(std::string_view& text, char separator, std::string_view& before) noexcept {
  std::size_t n = text.find(separator);
  if (n == text.npos) return false;
  before = text.substr(0, n);
  text.remove_prefix(n + 1);
  return true;
}

}  // namespace

parsed parse_v1_number(std::string_view text, std::int64_t& number) noexcept {
  std::string_view digits;
  return cut(text, '\n', digits) && to_number(digits, number) ? parsed::ok : parsed::malformed;
}

parsed parse_v2_limit(std::string_view text, cpu_quota& limit) noexcept {
  limit = {};
  std::string_view quota, period;
  if (!cut(text, ' ', quota)) return parsed::malformed;
  if (quota == "max") return parsed::ok;
  cpu_quota found;
  if (!cut(text, '\n', period) || !to_number(quota, found.quota) || !to_number(period, found.period))
    return parsed::malformed;
  limit = found;
  return parsed::ok;
}

bool lists_cpu(std::string_view list) noexcept {
  std::string_view name;
  while (cut(list, ',', name))
    if (name == "cpu") return true;
  return list == "cpu";
}

parsed unescape_path(std::string_view in, char* out, std::size_t capacity, std::size_t& size) noexcept {
  size = 0;
  while (!in.empty()) {
    unsigned c = static_cast<unsigned char>(in[0]);
    std::size_t used = 1;
    if (c == '\\') {   // always three octal digits
      if (in.size() < 4) return parsed::malformed;
      c = 0;
      for (char digit : in.substr(1, 3)) {
        if (digit < '0' || digit > '7') return parsed::malformed;
        c = c * 8 + static_cast<unsigned>(digit - '0');
      }
      if (c > 255) return parsed::malformed;
      used = 4;
    }
    if (size == capacity) return parsed::too_long;
    out[size++] = static_cast<char>(c);   // never beyond what has been read: in place is fine
    in.remove_prefix(used);
  }
  return parsed::ok;
}

// ---- /proc/self/cgroup ----

parsed parse_cpu_cgroup(line_reader& lines, cgroup_path& group, cgroup_version& version) noexcept {
  version = cgroup_version::none;
  group.size = 0;
  auto keep = [&](std::string_view path, cgroup_version found) {
    memcpy(group.text, path.data(), path.size());
    group.size = path.size();
    version = found;
  };
  for (;;) {
    switch (lines.next()) {
      case line_reader::step::whole: break;
      case line_reader::step::cut: version = cgroup_version::none; return parsed::too_long;
      case line_reader::step::failed: version = cgroup_version::none; return parsed::unreadable;
      case line_reader::step::end: return version == cgroup_version::none ? parsed::absent : parsed::ok;
    }
    // hierarchy:controller,controller:path
    std::string_view path = lines.line(), hierarchy, controllers;
    bool malformed = !cut(path, ':', hierarchy) || !cut(path, ':', controllers) || !path.starts_with('/');
    if (malformed || path.size() > sizeof group.text) {
      version = cgroup_version::none;
      group.size = 0;
      return malformed ? parsed::malformed : parsed::too_long;
    }
    if (hierarchy == "0") {
      keep(path, cgroup_version::v2);   // unless a v1 line with the controller follows
    } else if (lists_cpu(controllers)) {
      keep(path, cgroup_version::v1);
      return parsed::ok;
    }
  }
}

// ---- /proc/self/mountinfo ----

namespace {

struct mount {   // the fields we look at; root and point still escaped
  std::string_view root, point, type, options;
};

//  36 35 98:0 /root /point rw,noatime [tag:value ...] - type source options
parsed split_mount(std::string_view line, cgroup_version version, mount& m, bool& of_interest) noexcept {
  std::string_view ignored;
  of_interest = false;
  for (int i = 0; i < 3; ++i)
    if (!cut(line, ' ', ignored)) return parsed::malformed;
  if (!cut(line, ' ', m.root) || !m.root.starts_with('/')) return parsed::malformed;
  if (!cut(line, ' ', m.point) || !cut(line, ' ', ignored)) return parsed::malformed;
  std::string_view tag;
  do {
    if (!cut(line, ' ', tag)) return parsed::malformed;
  } while (tag != "-");
  if (!cut(line, ' ', m.type)) return parsed::malformed;
  if (version == cgroup_version::v2) {
    of_interest = m.type == "cgroup2";
  } else if (m.type == "cgroup") {
    if (!cut(line, ' ', ignored)) return parsed::malformed;
    m.options = line;
    of_interest = lists_cpu(m.options);
  }
  return parsed::ok;
}

// Whether `path` is `prefix` or lies below it; "/" is above everything.
bool lies_in(std::string_view path, std::string_view prefix) noexcept {
  if (prefix == "/") return true;
  return path.starts_with(prefix) && (path.size() == prefix.size() || path[prefix.size()] == '/');
}

}  // namespace

parsed parse_cpu_mount(line_reader& lines, std::string_view group, cgroup_version version,
                       cgroup_path& directory, std::size_t& mount_size) noexcept {
  for (;;) {
    switch (lines.next()) {
      case line_reader::step::whole:
      case line_reader::step::cut: break;   // what is missing are options of no interest
      case line_reader::step::failed: return parsed::unreadable;
      case line_reader::step::end: return parsed::absent;
    }
    mount m;
    bool of_interest;
    if (parsed p = split_mount(lines.line(), version, m, of_interest); p != parsed::ok) return p;
    if (!of_interest) continue;

    // Does it show our cgroup? `directory` serves as scratch for the root.
    std::size_t root_size;
    parsed unescaped = unescape_path(m.root, directory.text, sizeof directory.text, root_size);
    if (unescaped != parsed::ok) return unescaped;
    std::string_view root(directory.text, root_size);
    if (!lies_in(group, root)) continue;
    std::string_view below = group;
    if (root != "/") below.remove_prefix(root_size);
    if (below == "/") below.remove_prefix(1);
    // A cgroup outside of our namespace reads as /../x. From this mount there is no known way up to it.
    if (lies_in(below, "/..")) continue;

    unescaped = unescape_path(m.point, directory.text, sizeof directory.text, mount_size);
    if (unescaped != parsed::ok) return unescaped;
    if (mount_size + below.size() > sizeof directory.text) return parsed::too_long;
    memcpy(directory.text + mount_size, below.data(), below.size());
    directory.size = mount_size + below.size();
    return parsed::ok;
  }
}

}  // namespace weft::inline v0::rt::os
