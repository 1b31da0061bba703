// file_test.cpp — weft::file: reads and writes that park the goroutine.
#include "weft/file.hpp"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <vector>

#include "net/net_test.hpp"
#include "support/weft_test.hpp"
#include "weft/go.hpp"
#include "weft/this_goroutine.hpp"
#include "weft/wait_group.hpp"

namespace {

using namespace weft_test;
using weft::open_mode;

class scratch {   // a directory of its own
 public:
  scratch() { path_ = ::mkdtemp(name_); }
  ~scratch() { std::filesystem::remove_all(path_); }
  std::filesystem::path operator/(const char* name) const { return path_ / name; }
  const std::filesystem::path& path() const { return path_; }

 private:
  char name_[32] = "/tmp/weft-file-XXXXXX";
  std::filesystem::path path_;
};

TEST(File, WhatIsWrittenIsRead) {
  for_each_procs([] {
    const scratch dir;
    auto f = weft::file::open(dir / "a", open_mode::read | open_mode::write | open_mode::create);
    EXPECT_EQ(f.write(bytes_of("hello world")), 11u);
    EXPECT_EQ(f.write_at(bytes_of("HELLO"), 0), 5u);
    char buffer[32];
    EXPECT_EQ(text_of(buffer, f.read_at(room_in(buffer), 0)), "HELLO world");
    EXPECT_EQ(f.read_at(room_in(buffer), 100), 0u) << "behind the end";
    EXPECT_EQ(f.read(room_in(buffer)), 0u) << "the position is at the end";
    f.sync();
    f.sync(true);
    EXPECT_EQ(f.size(), 11u);
    auto more = weft::file::open(dir / "a", open_mode::append);
    more.write(bytes_of("!"));
    EXPECT_EQ(f.size(), 12u);
    EXPECT_EQ(weft::read_directory(dir.path()), std::vector<std::string>{"a"});
  });
}

TEST(File, ManyReadAtOnceBesideAnother) {
  for_each_procs([] {
    constexpr std::size_t block = 4096, blocks = 256;
    constexpr int readers = 64;
    const int reads = scaled(50);
    const scratch dir;
    auto f = weft::file::open(dir / "b", open_mode::read | open_mode::write | open_mode::create);
    std::vector<std::byte> all(block * blocks);
    for (std::size_t i = 0; i < all.size(); ++i) all[i] = static_cast<std::byte>(i / block * 31);
    ASSERT_EQ(f.write(all), all.size());
    weft::wait_group done;
    std::atomic<int> wrong{0};
    std::atomic<bool> stop{false};
    long yields = 0;
    for (int r = 0; r < readers; ++r)
      done.go([&, r] {
        std::vector<std::byte> mine(block);
        for (int i = 0; i < reads; ++i) {
          const std::size_t k = static_cast<std::size_t>(r * 7919 + i * 104729) % blocks;
          const bool right = f.read_at(mine, k * block) == block &&
                             std::equal(mine.begin(), mine.end(), all.begin() + static_cast<long>(k * block));
          wrong += !right;
        }
      });
    weft::wait_group counter;
    counter.go([&] {
      for (; !stop; ++yields) weft::this_goroutine::yield();
    });
    done.wait();
    stop = true;
    counter.wait();
    EXPECT_EQ(wrong, 0);
    EXPECT_GT(yields, 0);
  });
}

TEST(File, ErrorsAreTold) {
  for_each_procs([] {
    const scratch dir;
    std::error_code ec;
    EXPECT_FALSE(weft::file::open(dir / "none", open_mode::read, 0, ec));
    EXPECT_EQ(ec, std::errc::no_such_file_or_directory);
    EXPECT_THROW(weft::file::open(dir / "none"), std::system_error);
    auto f = weft::file::open(dir / "c", open_mode::write | open_mode::create);
    char buffer[8];
    f.read_at(room_in(buffer), 0, ec);
    EXPECT_EQ(ec, std::errc::bad_file_descriptor) << "it is open for writing only";
    EXPECT_FALSE(
        weft::file::open(dir / "c", open_mode::write | open_mode::create | open_mode::exclusive, 0600, ec));
    EXPECT_EQ(ec, std::errc::file_exists);
    EXPECT_THROW(weft::read_directory(dir / "none"), std::system_error);
  });
}

TEST(File, APlainThreadMayUseItToo) {
  const scratch dir;
  auto f = weft::file::open(dir / "d", open_mode::read | open_mode::write | open_mode::create);
  f.write(bytes_of("abc"));
  char buffer[8];
  EXPECT_EQ(text_of(buffer, f.read_at(room_in(buffer), 0)), "abc");
}

}  // namespace
