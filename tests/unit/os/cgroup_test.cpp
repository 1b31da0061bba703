// cgroup_test.cpp — the parsers of the kernel's cgroup texts, and the limit over a made-up tree of files.
#include "os/linux/cgroup.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <memory>
#include <string>
#include <vector>

#include "os/linux/cgroup_parse.hpp"
#include "os/os.hpp"
#include "support/fake_cgroups.hpp"

namespace {

using namespace weft::rt::os;
using weft_test::fake_cgroups;

// A descriptor from which `text` can be read.
class text_file {
 public:
  explicit text_file(const std::string& text) : fd_(memfd_create("text", MFD_CLOEXEC)) {
    EXPECT_EQ(write(fd_, text.data(), text.size()), static_cast<ssize_t>(text.size()));
    lseek(fd_, 0, SEEK_SET);
  }
  ~text_file() { close(fd_); }
  int fd() const { return fd_; }

 private:
  int fd_;
};

struct group_result {
  parsed result;
  cgroup_version version;
  std::string path;
};
group_result read_group(const std::string& text) {
  text_file file(text);
  auto buffer = std::make_unique<char[]>(line_limit);
  line_reader lines(file.fd(), buffer.get(), line_limit);
  cgroup_path path;
  cgroup_version version;
  parsed result = parse_cpu_cgroup(lines, path, version);
  return {result, version, result == parsed::ok ? std::string(path.view()) : ""};
}

struct mount_result {
  parsed result;
  std::string directory;
};
mount_result read_mount(const std::string& text, const std::string& group, cgroup_version version) {
  text_file file(text);
  auto buffer = std::make_unique<char[]>(line_limit);
  line_reader lines(file.fd(), buffer.get(), line_limit);
  cgroup_path directory;
  std::size_t mount_size = 0;
  parsed result = parse_cpu_mount(lines, group, version, directory, mount_size);
  return {result, result == parsed::ok ? std::string(directory.view()) : ""};
}

// What the kernel does to paths in mountinfo.
std::string escape_path(const std::string& path) {
  std::string out;
  for (char c : path) {
    if (c == '\\' || c == ' ' || c == '\t' || c == '\n') {
      char text[5];
      snprintf(text, sizeof text, "\\%03o", static_cast<unsigned char>(c));
      out += text;
    } else {
      out += c;
    }
  }
  return out;
}

const std::string ordinary_mounts =
    "22 1 8:1 / / rw,relatime - ext4 /dev/root rw\n"
    "20 22 0:19 / /proc rw,nosuid - proc proc rw\n"
    "21 22 0:20 / /sys rw,nosuid - sysfs sysfs rw\n";
const std::string v2_mount = "25 21 0:22 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw\n";
const std::string v1_mounts =
    "49 22 0:37 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n"
    "55 22 0:39 / /sys/fs/cgroup/cpuacct rw - cgroup cgroup rw,cpuacct\n"
    "56 22 0:40 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu,cpuacct\n"
    "59 22 0:43 / /sys/fs/cgroup/cpuset rw - cgroup cgroup rw,cpuset\n";

// ---- Go's rows ----

TEST(cgroup, TestParseV1Number) {
  struct {
    const char* text;
    parsed result;
    std::int64_t number;
  } cases[] = {
      {"-1\n", parsed::ok, -1},
      {"500000\n", parsed::ok, 500000},
      {"9223372036854775807\n", parsed::ok, INT64_MAX},
      {"9223372036854775808\n", parsed::malformed, 0},
      {"500000", parsed::malformed, 0},
      {"123max\n", parsed::malformed, 0},
      {"1000 5000\n", parsed::malformed, 0},
      {"\n", parsed::malformed, 0},
      {"", parsed::malformed, 0},
  };
  for (auto& c : cases) {
    std::int64_t number = 0;
    EXPECT_EQ(parse_v1_number(c.text, number), c.result) << c.text;
    EXPECT_EQ(number, c.result == parsed::ok ? c.number : number);
  }
}

TEST(cgroup, TestParseV2Limit) {
  struct {
    const char* text;
    parsed result;
    bool limited;
    std::int64_t cpus;
  } cases[] = {
      {"max 100000\n", parsed::ok, false, 0},
      {"500000 100000\n", parsed::ok, true, 5},
      {"50000 100000\n", parsed::ok, true, 1},
      {"250000 100000\n", parsed::ok, true, 3},
      {"200001 100000\n", parsed::ok, true, 3},
      {"9223372036854775807 9223372036854775807\n", parsed::ok, true, 1},
      {"9223372036854775807 1\n", parsed::ok, true, INT64_MAX},
      {"500000 0\n", parsed::ok, false, 0},
      {"500000 100000", parsed::malformed, false, 0},
      {"500000\n", parsed::malformed, false, 0},
      {"500000us 100000\n", parsed::malformed, false, 0},
      {"500000 100000us\n", parsed::malformed, false, 0},
      {"", parsed::malformed, false, 0},
  };
  for (auto& c : cases) {
    cpu_quota limit;
    EXPECT_EQ(parse_v2_limit(c.text, limit), c.result) << c.text;
    EXPECT_EQ(limit.limited(), c.limited) << c.text;
    EXPECT_EQ(c.limited ? limit.cpus_rounded_up() : 0, c.cpus) << c.text;
  }
}

TEST(cgroup, TestParseCPUCgroup) {
  group_result r = read_group("");
  EXPECT_EQ(r.result, parsed::absent);
  EXPECT_EQ(read_group("0::/" + std::string(path_limit + 10, 'a') + "\n").result, parsed::too_long);
  EXPECT_EQ(read_group("0::/" + std::string(line_limit + 10, 'a') + "\n").result, parsed::too_long);
  EXPECT_EQ(read_group("0::/a/b").result, parsed::too_long);   // the end is missing

  r = read_group("2:cpu,cpuacct:/a/b/cpu\n1:blkio:/a/b/blkio\n");
  EXPECT_EQ(r.version, cgroup_version::v1);
  EXPECT_EQ(r.path, "/a/b/cpu");
  r = read_group("0::/a/b/c\n");
  EXPECT_EQ(r.version, cgroup_version::v2);
  EXPECT_EQ(r.path, "/a/b/c");
  // Hybrid: v1 wins if it has the controller, wherever its line stands.
  for (const char* text : {"2:cpu,cpuacct:/a/b/cpu\n1:blkio:/a/b/blkio\n0::/a/b/v2\n",
                           "0::/a/b/v2\n2:cpu,cpuacct:/a/b/cpu\n"}) {
    r = read_group(text);
    EXPECT_EQ(r.version, cgroup_version::v1) << text;
    EXPECT_EQ(r.path, "/a/b/cpu") << text;
  }
  r = read_group("3:cpuset:/a\n1:name=systemd:/b\n0::/c\n");
  EXPECT_EQ(r.version, cgroup_version::v2);
  EXPECT_EQ(r.path, "/c");
}

TEST(cgroup, TestParseCPUCgroupMalformed) {
  for (const char* text : {"\n", "0\n", "0:\n", "0::\n", "0::a\n"})
    EXPECT_EQ(read_group(text).result, parsed::malformed) << text;
}

TEST(cgroup, TestContainsCPU) {
  for (const char* with : {"cpu", "memory,cpu", "cpu,memory", "io,cpu,block"}) EXPECT_TRUE(lists_cpu(with));
  for (const char* without : {"", ",", "memory,cpuacct", "cpuset", "xcpu"}) EXPECT_FALSE(lists_cpu(without));
}

TEST(cgroup, TestParseCPUMount) {
  constexpr auto v1 = cgroup_version::v1, v2 = cgroup_version::v2;
  std::string long_name;
  for (int i = 0; i < 4090; ++i) long_name += static_cast<char>(i % 256 == 0 ? 1 : i);
  std::string long_mount = "25 21 0:22 / /sys/" + escape_path(long_name) + " rw - cgroup2 cgroup2 rw\n";
  std::string layers = "/a/layer";
  while (layers.size() < line_limit + path_limit) layers += ":/a/layer";
  std::string overlay = "262 31 0:72 / /merged rw shared:729 - overlay overlay rw,lowerdir=" + layers + "\n";
  std::string below =
      "25 21 0:22 /sand /elsewhere/1 rw - cgroup2 cgroup2 rw\n"
      "25 21 0:22 /stone /elsewhere/2 rw - cgroup2 cgroup2 rw\n"
      "25 21 0:22 /sandbox/container/group /sys/fs/cgroup/group rw - cgroup2 cgroup2 rw\n"
      "25 21 0:22 /sandbox /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n"
      "25 21 0:22 / /second/match rw - cgroup2 cgroup2 rw\n";
  std::string outside =
      "1243 61 0:26 /../../.. /mnt rw shared:4 - cgroup2 cgroup2 rw\n"
      "29 22 0:26 /../../../.. /sys/fs/cgroup rw shared:4 - cgroup2 cgroup2 rw";

  struct {
    std::string text, group;
    cgroup_version version;
    std::string directory;   // empty: an error
  } cases[] = {
      {"", "/", v1, ""},
      {"56 22 0:40 /\\1 /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu,cpuacct\n", "/", v1, ""},
      {"56 22 0:40 / /sys/fs/cgroup/\\1 rw - cgroup cgroup rw,cpu,cpuacct\n", "/", v1, ""},
      {ordinary_mounts + v1_mounts, "/", v1, "/sys/fs/cgroup/cpu"},
      {ordinary_mounts + v2_mount, "/", v2, "/sys/fs/cgroup"},
      {ordinary_mounts + v2_mount + v1_mounts, "/", v1, "/sys/fs/cgroup/cpu"},
      {ordinary_mounts + v2_mount + v1_mounts, "/", v2, "/sys/fs/cgroup"},
      {ordinary_mounts + v1_mounts, "/", v2, ""},
      {"25 21 0:22 / /sys/fs/tab\\011tab rw - cgroup2 cgroup2 rw\n", "/", v2, "/sys/fs/tab\ttab"},
      {"25 21 0:22 /tab\\011tab /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n", "/tab\ttab/container", v2,
       "/sys/fs/cgroup/container"},
      {ordinary_mounts + overlay + v2_mount, "/", v2, "/sys/fs/cgroup"},
      {ordinary_mounts + long_mount, "/", v2, "/sys/" + long_name},
      {ordinary_mounts + long_mount, "/container", v2, ""},   // together too long
      {ordinary_mounts + below, "/sandbox/container", v2, "/sys/fs/cgroup/container"},
      {ordinary_mounts + v2_mount, "/sandbox/container", v2, "/sys/fs/cgroup/sandbox/container"},
      {ordinary_mounts + outside, "/../../../../init.scope", v2, "/sys/fs/cgroup/init.scope"},
      {ordinary_mounts + outside, "/../../../..", v2, "/sys/fs/cgroup"},
      {ordinary_mounts + v2_mount, "/../init.scope", v2, ""},
  };
  for (auto& c : cases) {
    mount_result r = read_mount(c.text, c.group, c.version);
    EXPECT_EQ(r.result == parsed::ok, !c.directory.empty()) << c.text.substr(0, 2000);
    EXPECT_EQ(r.directory, c.directory);
  }
}

TEST(cgroup, TestParseCPUMountMalformed) {
  for (const char* text :
       {"\n", "22\n", "22 1 8:1\n", "22 1 8:1 /\n", "22 1 8:1 / /cgroup\n", "22 1 8:1 / /cgroup rw\n",
        "22 1 8:1 / /cgroup rw -\n", "22 1 8:1 / /cgroup rw - \n", "22 1 8:1 / /cgroup rw - cgroup\n",
        "22 1 8:1 / /cgroup rw - cgroup cgroup\n", "22 1 8:1 a /cgroup rw - cgroup cgroup cpu\n"})
    EXPECT_EQ(read_mount(text, "/", cgroup_version::v1).result, parsed::malformed) << text;
}

TEST(cgroup, TestEscapePath) {
  struct {
    std::string plain, escaped;
  } cases[] = {
      {"/a/b/c", "/a/b/c"},
      {"/a/b b/c", "/a/b\\040b/c"},
      {"/a/b\tb/c", "/a/b\\011b/c"},
      {"/a/b\nb/c", "/a/b\\012b/c"},
      {"/a/b\\b/c", "/a/b\\134b/c"},
      {"\\b/c", "\\134b/c"},
      {"/a/\\", "/a/\\134"},
      {"/a/b\xff\x20/c", "/a/b\xff\\040/c"},
  };
  for (auto& c : cases) {
    EXPECT_EQ(escape_path(c.plain), c.escaped);
    std::string out(c.escaped.size(), 'x');
    std::size_t n = 0;
    EXPECT_EQ(unescape_path(c.escaped, out.data(), out.size(), n), parsed::ok);
    EXPECT_EQ(out.substr(0, n), c.plain);
    std::string in_place = c.escaped;
    EXPECT_EQ(unescape_path(in_place, in_place.data(), in_place.size(), n), parsed::ok);
    EXPECT_EQ(in_place.substr(0, n), c.plain);
  }
}

TEST(cgroup, TestUnescapeInvalidPath) {
  char out[8];
  std::size_t n = 0;
  for (const char* in : {"/a/b\\c", "/a/b\\01", "/a/b\\018", "/a/b\\01c", "/a/b\\777"})
    EXPECT_EQ(unescape_path(in, out, sizeof out, n), parsed::malformed) << in;
  for (const char* in : {"01234567890123456789", "\\001\\002\\003\\004\\005\\006\\007\\010\\011"})
    EXPECT_EQ(unescape_path(in, out, sizeof out, n), parsed::too_long) << in;
}

TEST(cgroup, TestLineReader) {
  using step = line_reader::step;
  struct line {
    std::string text;
    bool whole = true;
    bool operator==(const line&) const = default;
  };
  struct {
    std::string text;
    std::vector<line> lines;
  } cases[] = {
      {"", {}},
      {"1234\n", {{"1234"}}},
      {"1234", {{"1234", false}}},
      {"1234567\n", {{"1234567"}}},
      {"12345678", {{"12345678", false}}},
      {"12345678\n9\n", {{"12345678", false}, {"9"}}},
      {"1234\n5678\n", {{"1234"}, {"5678"}}},
      {"12\n34\n\n56\n78\n", {{"12"}, {"34"}, {""}, {"56"}, {"78"}}},
      {"1234\n5678", {{"1234"}, {"5678", false}}},
      {"1234\n1234567890\n5678\n", {{"1234"}, {"12345678", false}, {"5678"}}},
      {"1234\n" + std::string(60, '1') + "\n5678\n", {{"1234"}, {"11111111", false}, {"5678"}}},
  };
  for (auto& c : cases) {
    text_file file(c.text);
    char buffer[8];
    line_reader lines(file.fd(), buffer, sizeof buffer);
    std::vector<line> got;
    step s;
    while ((s = lines.next()) == step::whole || s == step::cut)
      got.push_back({std::string(lines.line()), s == step::whole});
    EXPECT_EQ(s, step::end);
    EXPECT_EQ(got, c.lines) << c.text;
  }
  char buffer[8];
  line_reader broken(-1, buffer, sizeof buffer);
  EXPECT_EQ(broken.next(), step::failed);
}

// ---- ours: every ancestor counts ----

TEST(cgroup, the_smallest_quota_of_all_ancestors_counts) {
  fake_cgroups tree;
  tree.v2("/pod/container/job", "/", "/sys/fs/cgroup");
  tree.limit("/pod/container/job", "max 100000\n");
  tree.limit("/pod/container", "800000 100000\n");
  tree.limit("/pod", "350000 100000\n");
  cgroup_cpu_limit limit(tree.root());
  ASSERT_TRUE(limit.find());
  EXPECT_EQ(limit.levels(), 3);
  EXPECT_EQ(limit.read(), 4);
  tree.limit("/pod/container/job", "250000 100000\n");   // seen without another find()
  EXPECT_EQ(limit.read(), 3);
  tree.limit("/pod/container/job", "garbage\n");
  EXPECT_EQ(limit.read(), 4);
  tree.limit("/pod", "max 100000\n");
  tree.limit("/pod/container", "max 100000\n");
  EXPECT_EQ(limit.read(), 0);
  limit.forget();
  EXPECT_EQ(limit.read(), 0);
}

TEST(cgroup, a_level_without_a_file_is_passed_over) {
  fake_cgroups tree;
  tree.v2("/a/b/c", "/", "/sys/fs/cgroup");
  tree.limit("/a", "500000 100000\n");
  cgroup_cpu_limit limit(tree.root());
  ASSERT_TRUE(limit.find());
  EXPECT_EQ(limit.levels(), 1);
  EXPECT_EQ(limit.read(), 5);
  limit.forget();
}

TEST(cgroup, a_container_sees_its_mount_point_as_the_top) {
  fake_cgroups tree;
  tree.v2("/sandbox/container/job", "/sandbox/container", "/sys/fs/cgroup");
  tree.limit("/job", "700000 100000\n");
  tree.limit("", "600000 100000\n");
  cgroup_cpu_limit limit(tree.root());
  ASSERT_TRUE(limit.find());
  EXPECT_EQ(limit.read(), 6);
  limit.forget();
}

TEST(cgroup, version_1_has_two_files) {
  fake_cgroups tree;
  tree.v1("/a/b", "/sys/fs/cgroup/cpu,cpuacct");
  tree.v1_limit("/a/b", "-1\n", "100000\n");
  tree.v1_limit("/a", "450000\n", "100000\n");
  cgroup_cpu_limit limit(tree.root());
  ASSERT_TRUE(limit.find());
  EXPECT_EQ(limit.levels(), 2);
  EXPECT_EQ(limit.read(), 5);
  tree.v1_limit("/a/b", "250000\n", "50000\n");
  tree.v1_limit("/a", "450000\n", "50000\n");
  EXPECT_EQ(limit.read(), 5);
  tree.v1_limit("/a/b", "250000\n", "0\n");
  EXPECT_EQ(limit.read(), 9);
  limit.forget();
}

TEST(cgroup, nothing_to_find_is_no_limit) {
  fake_cgroups tree;
  cgroup_cpu_limit empty(tree.root());
  EXPECT_FALSE(empty.find());
  EXPECT_EQ(empty.read(), 0);
  tree.v2("/a", "/", "/sys/fs/cgroup");
  EXPECT_FALSE(empty.find());   // no limit file anywhere
  tree.limit("/a", "300000 100000\n");
  EXPECT_TRUE(empty.find());    // the same object finds it later
  EXPECT_EQ(empty.read(), 3);
  empty.forget();
}

TEST(cgroup, deeper_than_we_look_is_harmless) {
  fake_cgroups tree;
  std::string path;
  for (int i = 0; i < 100; ++i) path += "/d";
  tree.v2(path, "/", "/sys/fs/cgroup");
  for (std::string p = path; !p.empty(); p.resize(p.size() - 2)) tree.limit(p, "max 100000\n");
  tree.limit(path, "400000 100000\n");
  cgroup_cpu_limit limit(tree.root());
  ASSERT_TRUE(limit.find());
  EXPECT_EQ(limit.read(), 4);
  limit.forget();
}

TEST(cgroup, this_process) {
  cgroup_find_again();
  int cpus = cgroup_cpus();
  EXPECT_TRUE(cpus == 0 || cpus >= 2);
  EXPECT_GE(default_maxprocs(), 1);
  EXPECT_LE(default_maxprocs(), default_maxprocs(false));
}

}  // namespace
