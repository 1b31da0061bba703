// join_test.cpp — spawn and join_handle: results, exceptions, ends without a result, limits, stop, who
// answers.
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/wait.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "weft/chan.hpp"
#include "weft/go.hpp"
#include "weft/join_handle.hpp"
#include "weft/runtime.hpp"
#include "weft_test.hpp"

namespace {

using namespace std::chrono_literals;
using weft::join_handle;
using weft::spawn;
using weft::this_goroutine::sleep_for;
using weft::this_goroutine::yield;
using weft_test::for_each_procs;
using weft_test::scaled;
using weft_test::with_procs;

int global = 5;
int& find_global(int) { return global; }

TEST(join, gives_the_result) {
  for_each_procs([] {
    EXPECT_EQ(spawn([](int a, int b) { return a * b; }, 6, 7).join(), 42);
    auto p = spawn([](std::unique_ptr<int> q) { return q; }, std::make_unique<int>(3)).join();
    EXPECT_EQ(*p, 3);
    EXPECT_EQ(&spawn(find_global, 0).join(), &global);
    bool ran = false;
    auto h = spawn({.name = "named"}, [&] { ran = true; });
    EXPECT_TRUE(h.joinable());
    h.join();
    EXPECT_FALSE(h.joinable());
    EXPECT_TRUE(ran);
  });
}

TEST(join, before_and_after_the_end) {
  for_each_procs([] {
    for (int i = 0; i < scaled(20'000); ++i) {
      auto h = spawn([i] { return i; });
      for (int k = i % 3; k > 0; --k) yield();
      ASSERT_EQ(h.join(), i);
    }
  });
}

TEST(join, rethrows) {
  for_each_procs([] {
    auto h = spawn([]() -> int { throw std::runtime_error("from f"); });
    try {
      h.join();
      FAIL();
    } catch (const std::runtime_error& e) {
      EXPECT_STREQ(e.what(), "from f");
    }
    EXPECT_FALSE(h.joinable());
    auto timed = spawn([] { throw 7; });
    EXPECT_THROW((void)timed.join_for(1h), int);
  });
}

TEST(join, of_one_that_exited) {
  with_procs(2, [] {
    bool unwound = false;
    auto h = spawn([&] {
      struct guard {
        bool& b;
        ~guard() { b = true; }
      } g{unwound};
      weft::this_goroutine::exit();
    });
    EXPECT_THROW(h.join(), weft::goroutine_exited);
    EXPECT_TRUE(unwound);
    spawn([] { weft::this_goroutine::exit(); }).detach();
    { auto dropped = spawn([] { weft::this_goroutine::exit(); }); }
  });
}

TEST(join, not_joinable) {
  with_procs(1, [] {
    join_handle<int> none;
    EXPECT_FALSE(none.joinable());
    EXPECT_THROW(none.join(), std::system_error);
    EXPECT_THROW(none.detach(), std::system_error);
    EXPECT_THROW((void)none.join_for(1ms), std::system_error);
    EXPECT_FALSE(none.request_stop());
    auto h = spawn([] { return 1; });
    none = std::move(h);
    EXPECT_FALSE(h.joinable());
    EXPECT_EQ(none.join(), 1);
    EXPECT_THROW(none.join(), std::system_error);
  });
}

TEST(join, nil_function) {
  with_procs(1, [] {
    EXPECT_THROW((void)spawn(std::function<void()>()), std::bad_function_call);
  });
}

TEST(join, with_a_limit) {
  for_each_procs([] {
    auto go_on = weft::make_chan<int>();
    auto h = spawn([&] { return *go_on.recv(); });
    EXPECT_EQ(h.join_for(5ms).error_or({}), weft::errc::timed_out);
    EXPECT_EQ(h.join_for(-1s).error_or({}), weft::errc::timed_out);
    EXPECT_TRUE(h.joinable());
    go_on.send(9);
    EXPECT_EQ(h.join_until(std::chrono::steady_clock::now() + 1h).value_or(0), 9);
    EXPECT_FALSE(h.joinable());
  });
}

// The deadline and the end meet: whichever wins, nothing is lost and nobody is woken twice.
TEST(join, limit_races_with_the_end) {
  for_each_procs([] {
    std::vector<join_handle<void>> racers;
    for (int r = 0; r < 8; ++r)
      racers.push_back(spawn([r] {
        for (int i = 0; i < scaled(300); ++i) {
          auto h = spawn([] {
            sleep_for(50us);
            return 1;
          });
          auto first = h.join_for(std::chrono::microseconds(30 + (i + r) % 40));
          if (first.has_value()) {
            ASSERT_EQ(*first, 1);
          } else {
            sleep_for(1us);                // a late claim would hit this wait
            ASSERT_EQ(h.join(), 1);
          }
        }
      }));
    for (auto& r : racers) r.join();
  });
}

TEST(join, stop_token) {
  for_each_procs([] {
    auto h = spawn([](std::stop_token stop, int n) {
      while (!stop.stop_requested()) yield();
      return n;
    }, 4);
    EXPECT_TRUE(h.get_stop_token().stop_possible());
    EXPECT_TRUE(h.request_stop());
    EXPECT_FALSE(h.request_stop());
    EXPECT_EQ(h.join(), 4);
    auto without = spawn([] {});
    EXPECT_FALSE(without.get_stop_token().stop_possible());
    EXPECT_FALSE(without.request_stop());
    without.join();
  });
}

TEST(join, destructor_stops_and_joins) {
  for_each_procs([] {
    std::atomic<bool> ended{false};
    {
      auto h = spawn([&](std::stop_token stop) {
        while (!stop.stop_requested()) sleep_for(100us);
        sleep_for(1ms);
        ended = true;
      });
    }
    EXPECT_TRUE(ended);
  });
}

TEST(join, detached_goes_on) {
  for_each_procs([] {
    auto done = weft::make_chan<int>();
    auto h = spawn([done] {
      sleep_for(1ms);
      done.send(1);
      return std::string(100, 'x');
    });
    h.detach();
    EXPECT_FALSE(h.joinable());
    EXPECT_EQ(done.recv(), 1);
    for (int i = 0; i < scaled(5'000); ++i) {   // at all stages of its life
      auto k = spawn([] { return std::make_unique<int>(1); });
      for (int n = i % 4; n > 0; --n) yield();
      k.detach();
    }
  });
}

// The closure and what it holds is gone when join returns.
TEST(join, closure_ends_before_the_join) {
  for_each_procs([] {
    auto held = std::make_shared<int>(1);
    spawn([held] { yield(); }).join();
    EXPECT_EQ(held.use_count(), 1);
    auto h = spawn([held] { return held; });
    EXPECT_EQ(h.join().use_count(), 2);
    EXPECT_EQ(held.use_count(), 1);
  });
}

TEST(join, from_threads) {
  for_each_procs([] {
    std::vector<std::thread> threads;
    std::atomic<int> sum{0};
    weft_test::flag all_done;
    std::atomic<int> left{4};
    for (int t = 0; t < 4; ++t)
      threads.emplace_back([&] {
        for (int i = 0; i < scaled(500); ++i) sum += spawn([] { return 1; }).join();
        auto slow = spawn([] {
          sleep_for(5ms);
          return 1;
        });
        EXPECT_EQ(slow.join_for(1us).error_or({}), weft::errc::timed_out);
        sum += slow.join();
        if (--left == 0) all_done.set();
      });
    while (!all_done.is_set()) sleep_for(1ms);
    for (auto& t : threads) t.join();
    EXPECT_EQ(sum, 4 * (scaled(500) + 1));
  });
}

// Before run() it waits for the world; after the world it has no result.
TEST(join, outlives_a_world) {
  auto early = spawn([] { return 2; });
  join_handle<int> late = weft::run({.maxprocs = 2}, [&] {
    EXPECT_EQ(early.join(), 2);
    return spawn([] {
      weft::make_chan<int>().recv();
      return 1;
    });
  });
  EXPECT_THROW(late.join(), weft::goroutine_exited);
  { auto dropped = weft::run({.maxprocs = 2}, [] { return spawn([] { weft::make_chan<int>().recv(); }); }); }
}

TEST(join, throwing_copies_start_nothing) {
  with_procs(1, [] {
    struct bad {
      bad() = default;
      bad(const bad&) { throw 1; }
      void operator()() const {}
    } b;
    const int before = weft::num_goroutine();
    EXPECT_THROW((void)spawn(b), int);
    EXPECT_EQ(weft::num_goroutine(), before);
  });
}

// ---- an exception that nobody asks for ends the process ----

struct ending {
  int status = -1;
  std::string text;
};

ending run_program(const std::string& arguments) {
  const std::string command = WEFT_PROGRAM_DIR "/program_unasked_exception " + arguments + " 2>&1";
  ending e;
  FILE* out = popen(command.c_str(), "r");
  if (!out) return e;
  for (int c; (c = fgetc(out)) != EOF;) e.text += static_cast<char>(c);
  e.status = pclose(out);
  return e;
}

class unasked : public ::testing::TestWithParam<const char*> {};

TEST_P(unasked, exception_ends_the_process) {
  const ending e = run_program(GetParam());
  ASSERT_TRUE(WIFEXITED(e.status)) << e.text;
  EXPECT_EQ(WEXITSTATUS(e.status), 2) << e.text;
  EXPECT_NE(e.text.find("panic: "), std::string::npos) << e.text;
  EXPECT_NE(e.text.find("nobody asked"), std::string::npos) << e.text;
}

INSTANTIATE_TEST_SUITE_P(join, unasked, ::testing::Values("detach_before", "detach_after", "destroy"),
                         [](const auto& i) { return std::string(i.param); });

TEST(join, asked_exception_does_not) { EXPECT_EQ(run_program("join").status, 0); }

}  // namespace
