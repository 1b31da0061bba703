// process_test.cpp — child processes and signals.
#include "weft/process.hpp"

#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <string>

#include "net/net_test.hpp"
#include "support/weft_test.hpp"
#include "weft/select.hpp"
#include "weft/signals.hpp"
#include "weft/wait_group.hpp"

namespace {

using namespace std::chrono_literals;
using namespace weft_test;
using weft::process;

std::string read_all(weft::fd& from) {
  std::string out;
  char buffer[256];
  while (const std::size_t n = from.read_some(room_in(buffer))) out.append(buffer, n);
  return out;
}

TEST(Process, SpeaksThroughPipes) {
  for_each_procs([] {
    auto cat = process::start("cat", {.in = weft::child_stream::pipe, .out = weft::child_stream::pipe});
    cat.in.write_all(bytes_of("through a pipe"));
    cat.in.close();
    EXPECT_EQ(read_all(cat.out), "through a pipe");
    EXPECT_TRUE(cat.wait().success());
    EXPECT_EQ(cat.id(), 0);
    std::error_code ec;
    cat.wait(ec);
    EXPECT_EQ(ec, std::errc::no_child_process);
  });
}

TEST(Process, EndsWithAStatusOrASignal) {
  for_each_procs([] {
    auto seven = process::start("sh", {.arguments = {"-c", "exit 7"}});
    EXPECT_EQ(seven.wait().code, 7);
    auto sleeper = process::start("sleep", {.arguments = {"1000"}});
    EXPECT_FALSE(sleeper.wait_for(1ms)) << "it still runs";
    sleeper.kill(SIGTERM);
    EXPECT_EQ(sleeper.wait().signal, SIGTERM);
    { auto killed = process::start("sleep", {.arguments = {"1000"}}); }
  });
}

TEST(Process, GetsWhatItIsGiven) {
  for_each_procs([] {
    weft::process_options how;
    how.arguments = {"-c", "echo $NAME; pwd; echo lost >&2"};
    how.environment = {{"NAME=value", "PATH=/bin:/usr/bin"}};
    how.directory = "/";
    how.out = weft::child_stream::pipe;
    how.err = weft::child_stream::to_out;
    auto sh = process::start("sh", how);
    EXPECT_EQ(read_all(sh.out), "value\n/\nlost\n");
    EXPECT_TRUE(sh.wait().success());
  });
}

TEST(Process, ThatDoesNotExistIsAnError) {
  for_each_procs([] {
    EXPECT_THROW(process::start("/no/such/program"), std::system_error);
    process none;
    EXPECT_THROW(none.kill(SIGTERM), std::system_error);
  });
}

TEST(Process, ManyAtOnce) {
  for_each_procs([] {
    weft::wait_group all;
    for (int i = 0; i < 16; ++i)
      all.go([i] {
        auto child = process::start("sh", {.arguments = {"-c", "exit " + std::to_string(i)}});
        EXPECT_EQ(child.wait().code, i);
      });
    all.wait();
  });
}

TEST(Signals, ComeToWhoWaits) {
  for_each_procs([] {
    weft::signals first({SIGUSR1, SIGUSR2}), second({SIGUSR1});
    ::raise(SIGUSR1);
    EXPECT_EQ(first.wait(), SIGUSR1);
    EXPECT_EQ(second.wait(), SIGUSR1);
    ::raise(SIGUSR2);
    EXPECT_EQ(first.wait(), SIGUSR2);
    std::stop_source source;
    source.request_stop();
    EXPECT_THROW(second.wait(source.get_token()), std::system_error);
  });
}

TEST(Signals, ComeThroughAChannel) {
  for_each_procs([] {
    weft::chan<int> came;
    {
      weft::signals s({SIGUSR1});
      came = s.channel();
      for (int i = 0; i < 10; ++i) {
        ::raise(SIGUSR1);
        EXPECT_EQ(came.recv(), SIGUSR1);
      }
    }
    EXPECT_EQ(came.recv(), std::nullopt) << "closed with the object";
  });
}

TEST(Signals, SomeCannotBeHad) {
  for (int number : {SIGKILL, SIGSEGV, SIGURG, 0, 65})
    EXPECT_THROW(weft::signals({number}), std::system_error) << number;
}

}  // namespace
