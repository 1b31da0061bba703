// fd_test.cpp — weft::fd on pipes and eventfds: parking, deadlines, close, stop requests.
#include "weft/fd.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "net/net_test.hpp"
#include "support/weft_test.hpp"
#include "weft/error.hpp"
#include "weft/go.hpp"
#include "weft/this_goroutine.hpp"
#include "weft/wait_group.hpp"

namespace {

using namespace std::chrono_literals;
using namespace weft_test;
using weft::errc;

struct pipe_ends {
  weft::fd read, write;
};

pipe_ends make_pipe() {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) throw std::system_error(errno, std::system_category());
  return {weft::fd(ends[0]), weft::fd(ends[1])};
}

TEST(Fd, ReadsWhatIsWritten) {
  for_each_procs([] {
    auto [read, write] = make_pipe();
    weft::wait_group all;
    all.go([&] {
      write.write_all(bytes_of("hello"));
      weft::this_goroutine::yield();
      write.write_all(bytes_of(" world"));
      write.close();
    });
    std::string got;
    char buffer[4];
    while (const std::size_t n = read.read_some(room_in(buffer))) got.append(buffer, n);
    EXPECT_EQ(got, "hello world");
    all.wait();
  });
}

TEST(Fd, MoreThanThePipeHoldsGoesThrough) {
  for_each_procs([] {
    constexpr std::size_t size = 4 << 20;
    auto [read, write] = make_pipe();
    std::vector<std::byte> sent(size), got(size);
    for (std::size_t i = 0; i < size; ++i) sent[i] = static_cast<std::byte>(i * 7 + i / 4096);
    weft::wait_group all;
    all.go([&] { EXPECT_EQ(write.write_all(sent), size); });
    EXPECT_EQ(read.read_exact(got), size);
    EXPECT_TRUE(sent == got);
    all.wait();
  });
}

TEST(Fd, WritesOfSeveralGoroutinesDoNotMix) {
  for_each_procs([] {
    constexpr std::size_t size = 200'000, writers = 8;
    auto [read, write] = make_pipe();
    weft::wait_group all;
    for (std::size_t w = 0; w < writers; ++w)
      all.go([&, w] {
        std::vector<std::byte> mine(size, static_cast<std::byte>('a' + w));
        write.write_all(mine);
      });
    for (std::size_t w = 0; w < writers; ++w) {
      std::vector<std::byte> one(size);
      read.read_exact(one);
      EXPECT_EQ(std::count(one.begin(), one.end(), one[0]), static_cast<std::ptrdiff_t>(size));
    }
    all.wait();
  });
}

TEST(Fd, TheEndBeforeAllIsAnError) {
  for_each_procs([] {
    auto [read, write] = make_pipe();
    write.write_all(bytes_of("abc"));
    write.close();
    char buffer[8];
    std::error_code ec;
    EXPECT_EQ(read.read_exact(room_in(buffer), ec), 3u);
    EXPECT_EQ(ec, errc::end_of_stream);
    EXPECT_EQ(read.read_some(room_in(buffer), ec), 0u);
    EXPECT_FALSE(ec);
  });
}

TEST(Fd, AWaitHasALimit) {
  for_each_procs([] {
    auto [read, write] = make_pipe();
    char buffer[8];
    std::error_code ec;
    const auto start = std::chrono::steady_clock::now();
    EXPECT_EQ(read.read_some_for(room_in(buffer), 10ms, ec), 0u);
    EXPECT_EQ(ec, errc::timed_out);
    EXPECT_GE(std::chrono::steady_clock::now() - start, 10ms);
    write.write_all(bytes_of("x"));
    EXPECT_EQ(read.read_some_for(room_in(buffer), 10s, ec), 1u);
    EXPECT_FALSE(ec);
    EXPECT_THROW(read.read_some_for(room_in(buffer), 1ms), std::system_error);
  });
}

TEST(Fd, ADeadlineStays) {
  for_each_procs([] {
    auto [read, write] = make_pipe();
    write.write_all(bytes_of("abc"));
    char buffer[1];
    std::error_code ec;
    read.reads_expire_at(std::chrono::steady_clock::now() - 1s);
    for (int i = 0; i < 3; ++i) {
      read.read_some(room_in(buffer), ec);
      EXPECT_EQ(ec, errc::timed_out) << "although there is something to read";
    }
    read.never_expires();
    EXPECT_EQ(read.read_some(room_in(buffer)), 1u);
  });
}

TEST(Fd, ADeadlineReachesWhoWaits) {
  for_each_procs([] {
    auto [read, write] = make_pipe();
    weft::wait_group all;
    all.go([&read = read] {
      char buffer[1];
      std::error_code ec;
      read.read_some(room_in(buffer), ec);
      EXPECT_EQ(ec, errc::timed_out);
    });
    wait_until_parked(1);
    read.expires_after(0s);
    all.wait();
    read.expires_after(20ms);
    all.go([&read = read] {
      char buffer[1];
      EXPECT_EQ(read.read_some(room_in(buffer)), 1u) << "the deadline was moved while it waited";
    });
    wait_until_parked(1);
    read.never_expires();
    weft::this_goroutine::sleep_for(40ms);
    write.write_all(bytes_of("x"));
    all.wait();
  });
}

TEST(Fd, CloseWakesEverybody) {
  for_each_procs([] {
    auto [read, write] = make_pipe();
    weft::wait_group all;
    std::atomic<int> closed{0};
    for (int i = 0; i < 8; ++i)
      all.go([&read = read, &closed] {
        char buffer[1];
        std::error_code ec;
        read.read_some(room_in(buffer), ec);
        closed += ec == errc::fd_closed;
      });
    wait_until_parked(8);
    read.close();
    all.wait();
    EXPECT_EQ(closed, 8);
    char buffer[1];
    std::error_code ec;
    read.read_some(room_in(buffer), ec);
    EXPECT_EQ(ec, errc::fd_closed);
    EXPECT_EQ(ec, std::errc::bad_file_descriptor);
    EXPECT_EQ(read.native_handle(), -1);
  });
}

TEST(Fd, AStopRequestReachesWhoWaits) {
  for_each_procs([] {
    auto [read, write] = make_pipe();
    std::stop_source source;
    weft::wait_group all;
    all.go([&read = read, stop = source.get_token()] {
      char buffer[1];
      std::error_code ec;
      read.read_some(room_in(buffer), ec, stop);
      EXPECT_EQ(ec, errc::stopped);
    });
    wait_until_parked(1);
    source.request_stop();
    all.wait();
  });
}

TEST(Fd, EveryNumberOfAnEventfdArrives) {
  for_each_procs([] {
    weft::fd counter(::eventfd(0, EFD_SEMAPHORE | EFD_CLOEXEC));
    constexpr int rounds = 2000;
    weft::wait_group all;
    all.go([&] {
      for (int i = 0; i < rounds; ++i) {
        const std::uint64_t one = 1;
        counter.write_all(std::as_bytes(std::span(&one, 1)));
        if (i % 3 == 0) weft::this_goroutine::yield();
      }
    });
    std::array<std::atomic<int>, 4> got{};
    std::atomic<int> total{0};
    for (auto& mine : got)
      all.go([&] {
        while (total++ < rounds) {
          std::uint64_t one;
          counter.read_exact(std::as_writable_bytes(std::span(&one, 1)));
          ++mine;
        }
      });
    all.wait();
    EXPECT_EQ(got[0] + got[1] + got[2] + got[3], rounds);
  });
}

TEST(Fd, AFileBlocksTheThreadOnly) {
  for_each_procs([] {
    char name[] = "/tmp/weft-fd-XXXXXX";
    weft::fd file(::mkstemp(name));
    ::unlink(name);
    file.write_all(bytes_of("in a file"));
    ::lseek(file.native_handle(), 0, SEEK_SET);
    char buffer[32];
    EXPECT_EQ(text_of(buffer, file.read_some(room_in(buffer))), "in a file");
    EXPECT_EQ(file.read_some(room_in(buffer)), 0u);
  });
}

TEST(Fd, APlainThreadMayUseItToo) {
  auto [read, write] = make_pipe();
  std::thread writer([&write = write] {
    std::this_thread::sleep_for(20ms);
    write.write_all(bytes_of("x"));
  });
  char buffer[1];
  std::error_code ec;
  EXPECT_EQ(read.read_some(room_in(buffer)), 1u);
  read.read_some_for(room_in(buffer), 5ms, ec);
  EXPECT_EQ(ec, errc::timed_out);
  writer.join();
}

TEST(ForeignFd, IsWaitedForAndForgotten) {
  for_each_procs([] {
    int ends[2];
    ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
    weft::wait_writable(ends[1]);
    EXPECT_FALSE(weft::wait_readable_for(ends[0], 2ms));
    weft::wait_group all;
    for (int i = 0; i < 3; ++i) all.go([&] { weft::wait_readable(ends[0]); });
    wait_until_parked(3);
    ASSERT_EQ(::write(ends[1], "x", 1), 1);
    all.wait();
    std::stop_source source;
    all.go([&, stop = source.get_token()] {
      char buffer[1];
      EXPECT_EQ(::read(ends[0], buffer, 1), 1);
      std::error_code ec;
      weft::wait_readable(ends[0], ec, stop);
      EXPECT_EQ(ec, errc::stopped);
    });
    wait_until_parked(1);
    source.request_stop();
    all.wait();
    ::close(ends[1]);
    weft::wait_readable(ends[0]);                    // it has hung up
    ::close(ends[0]);
    std::error_code ec;
    weft::wait_readable(ends[0], ec);
    EXPECT_EQ(ec, std::errc::bad_file_descriptor);
    const int file = ::open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    weft::wait_readable(file);
    ::close(file);
  });
}

TEST(Fd, WhatIsNoDescriptorIsRefused) {
  EXPECT_THROW(weft::fd(-1), std::system_error);
  weft::fd none;
  char buffer[1];
  std::error_code ec;
  none.read_some(room_in(buffer), ec);
  EXPECT_EQ(ec, errc::fd_closed);
}

}  // namespace
