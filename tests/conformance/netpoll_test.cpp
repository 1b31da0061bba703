// netpoll_test.cpp — Go's tests of the netpoller itself: runtime/proc_test.go, crash_test.go,
// os/pipe_test.go.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <vector>

#include "child.hpp"
#include "net/net_test.hpp"
#include "sched/ports.hpp"
#include "weft/error.hpp"
#include "weft/fd.hpp"
#include "weft/net/tcp.hpp"
#include "weft/wait_group.hpp"
#include "weft_test.hpp"

namespace {

using namespace std::chrono_literals;
using namespace weft_test;
using weft::errc;
namespace net = weft::net;
namespace rt = weft::rt;

// A wait of ten seconds in the poller ends when it is broken.
TEST(netpoll_test, TestNetpollBreak) {
  for_each_procs([] {
    auto listener = net::tcp_listener::bind("127.0.0.1:0");   // there is a backend now
    const auto start = std::chrono::steady_clock::now();
    weft::wait_group all;
    all.go([] { weft::this_goroutine::sleep_for(5ms); });     // a new earliest timer breaks the wait
    all.go([&] {
      std::error_code ec;
      listener.accept_for(10s, ec);
      EXPECT_EQ(ec, errc::fd_closed);
    });
    wait_until_parked(1);
    weft::this_goroutine::sleep_for(1ms);
    listener.close();
    all.wait();
    EXPECT_LT(std::chrono::steady_clock::now() - start, 5s);
  });
}

// Nobody is left in the count when the connections have ended.
TEST(netpoll_test, TestNetpollWaiters) {
  for_each_procs([] {
    constexpr int connections = 20;
    auto listener = net::tcp_listener::bind("127.0.0.1:0");
    weft::wait_group all;
    all.go([&] {
      for (int i = 0; i < connections; ++i)
        all.go([peer = listener.accept()]() mutable {
          char buffer[64];
          while (const std::size_t n = peer.read_some(room_in(buffer)))
            peer.write_all(room_in(buffer).first(n));
        });
    });
    for (int i = 0; i < connections; ++i)
      all.go([&] {
        auto stream = net::tcp_stream::connect(listener.local_endpoint());
        char buffer[4];
        for (int k = 0; k < 10; ++k) {
          stream.write_all(bytes_of("ping"));
          EXPECT_EQ(stream.read_exact(room_in(buffer)), 4u);
        }
      });
    all.wait();
    EXPECT_FALSE(rt::poller.has_waiters());
  });
}

// Waiting for a connection is no deadlock, however long it takes; nor is a wait that times out.
TEST(netpoll_test, TestNetpollDeadlock) {
  const child_result r = run_program("netpoll", {"deadlock"});
  EXPECT_EQ(r.exit_status, 0) << r;
  EXPECT_EQ(r.out, "done\n") << r;
}

// A hundred goroutines that read pipes need no hundred threads.
TEST(netpoll_test, TestPipeThreads) {
  constexpr int pipes = 100;
  weft::run({.maxprocs = 2, .max_threads = 50}, [] {
    std::vector<weft::fd> reads, writes;
    for (int i = 0; i < pipes; ++i) {
      int ends[2];
      ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
      reads.emplace_back(ends[0]);
      writes.emplace_back(ends[1]);
    }
    weft::wait_group all;
    for (weft::fd& read : reads)
      all.go([&read] {
        char byte[1];
        EXPECT_EQ(read.read_some(room_in(byte)), 1u);
      });
    wait_until_parked(pipes);
    for (weft::fd& write : writes) write.write_all(bytes_of("x"));
    all.wait();
  });
}

}  // namespace
