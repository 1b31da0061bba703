// settings_test.cpp — what the environment may say, and the one line that a bad value gets.
#include "base/settings.hpp"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <string>

#include "base/print.hpp"

namespace {

using namespace weft::rt;

struct result {
  settings s;
  std::string complaints;
  long lines() const { return std::count(complaints.begin(), complaints.end(), '\n'); }
};

result parse(const environment& texts) {
  int fd = memfd_create("complaints", MFD_CLOEXEC);
  result r;
  {
    printer out(fd);
    r.s = parse_settings(texts, out);
  }
  char buffer[4096];
  ssize_t n = pread(fd, buffer, sizeof buffer, 0);
  r.complaints.assign(buffer, static_cast<std::size_t>(std::max<ssize_t>(n, 0)));
  close(fd);
  return r;
}

bool names(const result& r, const std::string& what) { return r.complaints.find(what) != std::string::npos; }

TEST(settings, unset_and_empty_mean_the_defaults) {
  for (const environment& e : {environment{}, environment{"", "", "", "", "", ""}}) {
    result r = parse(e);
    EXPECT_EQ(r.complaints, "");
    EXPECT_EQ(r.s.maxprocs, 0);
    EXPECT_EQ(r.s.stack_size, 256u << 10);
    EXPECT_EQ(r.s.max_threads, 10'000);
    EXPECT_FALSE(r.s.strict_guards);
    EXPECT_EQ(r.s.traceback, traceback_level::all);
    EXPECT_EQ(r.s.schedtrace_ms, 0);
    EXPECT_FALSE(r.s.scheddetail);
    EXPECT_TRUE(r.s.containermaxprocs);
    EXPECT_TRUE(r.s.updatemaxprocs);
  }
}

TEST(settings, maxprocs) {
  EXPECT_EQ(parse({.maxprocs = "1"}).s.maxprocs, 1);
  EXPECT_EQ(parse({.maxprocs = "4096"}).s.maxprocs, 4096);
  for (const char* bad : {"abc", "0", "-1", "1e9", "4097", "3x", " 3", "+3", "99999999999999999999"}) {
    result r = parse({.maxprocs = bad});
    EXPECT_EQ(r.s.maxprocs, 0) << bad;
    EXPECT_EQ(r.lines(), 1) << bad;
    EXPECT_TRUE(names(r, std::string("WEFT_MAXPROCS=") + bad)) << r.complaints;
    EXPECT_TRUE(names(r, "1 to 4096")) << r.complaints;
  }
}

TEST(settings, stack) {
  struct {
    const char* text;
    std::size_t bytes;
  } good[] = {{"16384", 16384},          {"65536", 65536},        {"16K", 16384},      {"64KiB", 65536},
              {"1M", 1 << 20},           {"8MiB", 8 << 20},       {"1G", 1 << 30},     {"1GiB", 1 << 30},
              {"1073741824", 1u << 30}, {"1048576K", 1u << 30}};
  for (auto& c : good) {
    result r = parse({.stack = c.text});
    EXPECT_EQ(r.s.stack_size, c.bytes) << c.text;
    EXPECT_EQ(r.complaints, "");
  }
  for (const char* bad : {"3", "16383", "15K", "2G", "1073741825", "64iB", "64KB", "K", "KiB", "-64K", "6.5M",
                          "99999999999999999999K", "1T", "9223372036854775807K"}) {
    result r = parse({.stack = bad});
    EXPECT_EQ(r.s.stack_size, 256u << 10) << bad;
    EXPECT_EQ(r.lines(), 1) << bad;
    EXPECT_TRUE(names(r, std::string("WEFT_STACK=") + bad)) << r.complaints;
    EXPECT_TRUE(names(r, "16KiB to 1GiB")) << r.complaints;
  }
}

TEST(settings, words_and_threads) {
  EXPECT_TRUE(parse({.stackguard = "strict"}).s.strict_guards);
  EXPECT_FALSE(parse({.stackguard = "on"}).s.strict_guards);
  EXPECT_EQ(parse({.stackguard = "off"}).lines(), 1);
  EXPECT_EQ(parse({.traceback = "none"}).s.traceback, traceback_level::none);
  EXPECT_EQ(parse({.traceback = "crash"}).s.traceback, traceback_level::crash);
  EXPECT_TRUE(names(parse({.traceback = "2"}), "WEFT_TRACEBACK=2: ignored; allowed: none, single"));
  EXPECT_EQ(parse({.maxthreads = "10"}).s.max_threads, 10);
  EXPECT_EQ(parse({.maxthreads = "0"}).s.max_threads, 10'000);
  EXPECT_EQ(parse({.maxthreads = "0"}).lines(), 1);
}

TEST(settings, debug_list) {
  result r = parse({.debug = "schedtrace=1000,scheddetail=1,,updatemaxprocs=0,containermaxprocs=0"});
  EXPECT_EQ(r.complaints, "");
  EXPECT_EQ(r.s.schedtrace_ms, 1000);
  EXPECT_TRUE(r.s.scheddetail);
  EXPECT_FALSE(r.s.updatemaxprocs);
  EXPECT_FALSE(r.s.containermaxprocs);
  EXPECT_TRUE(r.s.watchdog);
  r = parse({.debug = "asyncpreemptoff=1,slice=200,watchdog=0"});
  EXPECT_FALSE(r.s.watchdog);
  EXPECT_EQ(r.complaints, "");
  EXPECT_TRUE(r.s.asyncpreemptoff);
  EXPECT_EQ(r.s.slice_us, 200);
  r = parse({.debug = "slice=99,slice=x"});
  EXPECT_EQ(r.lines(), 2);
  EXPECT_EQ(r.s.slice_us, 0);
  r = parse({.debug = "scheddetail=1,scheddetail=0"});
  EXPECT_FALSE(r.s.scheddetail);   // the last one counts
}

TEST(settings, one_line_for_each_bad_debug_item) {
  const char* list = "gctrace=1,schedtrace=5,schedtrace=x,scheddetail=2,scheddetail,=,schedtrace=-1";
  result r = parse({.debug = list});
  EXPECT_EQ(r.lines(), 6) << r.complaints;
  EXPECT_EQ(r.s.schedtrace_ms, 5);   // the good one is kept
  EXPECT_FALSE(r.s.scheddetail);
  EXPECT_TRUE(names(r, "WEFTDEBUG=gctrace=1: ignored; allowed: schedtrace=MS"));
}

TEST(settings, long_values_are_shown_in_part) {
  std::string huge(5000, '9');
  result r = parse({.maxprocs = huge.c_str()});
  EXPECT_EQ(r.lines(), 1);
  EXPECT_LT(r.complaints.size(), 250u);
}

TEST(settings, the_process_has_some) {
  settings_init();
  settings_init();
  EXPECT_GE(current_settings().stack_size, 16u << 10);
}

}  // namespace
