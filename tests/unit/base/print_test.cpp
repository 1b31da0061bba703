// print_test.cpp — numbers, long texts, one write a line.
#include "base/print.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <string>
#include <thread>

#include "os/os.hpp"

namespace {

using namespace weft::rt;

template <class F>
std::string printed(F&& f) {
  int fd = memfd_create("text", MFD_CLOEXEC);
  {
    printer out(fd);
    f(out);
  }
  std::string text(static_cast<std::size_t>(lseek(fd, 0, SEEK_END)), '\0');
  EXPECT_EQ(pread(fd, text.data(), text.size(), 0), static_cast<ssize_t>(text.size()));
  close(fd);
  return text;
}

TEST(printer, numbers_and_words) {
  EXPECT_EQ(printed([](printer& p) { p << 0 << ' ' << -7 << ' ' << 42u << ' ' << true << ' ' << false; }),
            "0 -7 42 true false");
  EXPECT_EQ(printed([](printer& p) { p << INT64_MIN << ' ' << INT64_MAX << ' ' << UINT64_MAX; }),
            "-9223372036854775808 9223372036854775807 18446744073709551615");
  EXPECT_EQ(printed([](printer& p) { p.hex(0) << ' '; p.hex(0x1f) << ' '; p.hex(UINT64_MAX); }),
            "0x0 0x1f 0xffffffffffffffff");
  const void* address = reinterpret_cast<const void*>(0xabc);
  EXPECT_EQ(printed([&](printer& p) { p << address << static_cast<const char*>(nullptr); }), "0xabc(null)");
  EXPECT_EQ(printed([](printer&) {}), "");
}

TEST(printer, nothing_of_a_long_text_is_lost) {
  std::string text;
  for (int i = 0; i < 3000; ++i) text += static_cast<char>('a' + i % 26);
  EXPECT_EQ(printed([&](printer& p) { p << "<" << text << ">"; }), "<" + text + ">");
  std::string pieces;
  EXPECT_EQ(printed([&](printer& p) {
              for (int i = 0; i < 500; ++i) p << i << ',', pieces += std::to_string(i) + ',';
            }),
            pieces);
}

TEST(printer, a_line_is_one_write) {
  int ends[2];
  ASSERT_EQ(pipe2(ends, O_DIRECT | O_CLOEXEC), 0);   // packet mode: a read returns what one write gave
  {
    printer p(ends[1]);
    p << "one" << ' ' << 1 << '\n';
    p.flush();
    p << std::string(999, 'x') << '\n';
  }
  char buffer[4096];
  EXPECT_EQ(read(ends[0], buffer, sizeof buffer), 6);
  EXPECT_EQ(read(ends[0], buffer, sizeof buffer), 1000);
  close(ends[0]);
  close(ends[1]);
}

TEST(printer, short_writes_and_a_full_non_blocking_pipe_are_carried_on) {
  int ends[2];
  ASSERT_EQ(pipe2(ends, O_NONBLOCK | O_CLOEXEC), 0);
  std::string text(1 << 20, 'y');
  std::thread writer([&] { os::write_all(ends[1], text.data(), text.size()); });
  std::size_t got = 0;
  char buffer[8192];
  while (got < text.size()) {
    ssize_t n = read(ends[0], buffer, sizeof buffer);
    if (n > 0) got += static_cast<std::size_t>(n);
    else std::this_thread::yield();
  }
  writer.join();
  EXPECT_EQ(got, text.size());
  os::write_all(-1, "x", 1);   // nobody is there: returns
  close(ends[0]);
  close(ends[1]);
}

}  // namespace
