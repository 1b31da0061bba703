// dump_test.cpp — dump_goroutines() from a goroutine and from a plain thread, and the pieces under it.
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <string>
#include <thread>

#include "child.hpp"
#include "observe/backtrace.hpp"
#include "observe/modules.hpp"
#include "weft/chan.hpp"
#include "weft/dump.hpp"
#include "weft/go.hpp"
#include "weft_test.hpp"

namespace {

namespace rt = weft::rt;

std::string dumped() {
  int fd = memfd_create("dump", MFD_CLOEXEC);
  weft::dump_goroutines(fd);
  std::string text(static_cast<std::size_t>(lseek(fd, 0, SEEK_END)), '\0');
  EXPECT_EQ(pread(fd, text.data(), text.size(), 0), static_cast<ssize_t>(text.size()));
  close(fd);
  return text;
}

TEST(dump, FromAGoroutine) {
  weft_test::for_each_procs([] {
    auto c = weft::make_chan<int>();
    for (int i = 0; i < 3; ++i) weft::go(weft::attrs{.name = "receiver"}, [c] { c.recv(); });
    auto all = weft_test::goroutines_in(dumped(), false);
    auto waits = [](const weft_test::dumped_goroutine& g) { return g.status.starts_with("chan receive"); };
    // they may start on threads that are slow to come
    while (std::count_if(all.begin(), all.end(), waits) < 3) {
      weft::this_goroutine::yield();
      all = weft_test::goroutines_in(dumped(), false);
    }
    ASSERT_EQ(all.size(), 4u);
    EXPECT_EQ(all[0].status, "running") << "the caller comes first";
    EXPECT_EQ(all[0].id, std::to_string(weft::this_goroutine::id()));
    for (int i = 1; i <= 3; ++i) {
      EXPECT_EQ(all[i].status, "chan receive, \"receiver\"");
      EXPECT_NE(all[i].body.find("\t0x"), std::string::npos) << "it has a stack";
      EXPECT_NE(all[i].body.find("created by goroutine " + all[0].id + " at 0x"), std::string::npos);
    }
    for (int i = 0; i < 3; ++i) c.send(i);   // nothing was disturbed
  });
}

TEST(dump, FromAPlainThread) {
  weft_test::with_procs(2, [] {
    auto c = weft::make_chan<int>();
    std::string text;
    std::thread other([&] {
      text = dumped();
      c.send(1);
    });
    c.recv();
    other.join();
    auto all = weft_test::goroutines_in(text, false);
    ASSERT_EQ(all.size(), 2u) << text;
    EXPECT_EQ(all[0].status, "running, plain thread") << text;
  });
}

TEST(backtrace, KeepsBothEnds) {
  rt::backtrace t;
  t.clear();
  for (std::uintptr_t i = 0; i < 1234; ++i) t.add({reinterpret_cast<const void*>(i), false});
  ASSERT_EQ(t.shown(), 100u);
  EXPECT_EQ(t.elided(), 1134u);
  for (std::uintptr_t i = 0; i < 50; ++i) {
    EXPECT_EQ(t[i].pc, reinterpret_cast<const void*>(i));
    EXPECT_EQ(t[50 + i].pc, reinterpret_cast<const void*>(1184 + i));
  }
}

TEST(modules, FindThisProgram) {
  static rt::module_table table;
  table.read();
  auto found = table.find(reinterpret_cast<const void*>(&dumped));
  char self[4096] = {};
  ASSERT_GT(readlink("/proc/self/exe", self, sizeof self - 1), 0);
  EXPECT_EQ(found.path, self);
  EXPECT_GT(found.offset, 0u);
  EXPECT_TRUE(table.find(nullptr).path.empty());
}

}  // namespace
