// sync_once_test.cpp — what Go's sync package promises of WaitGroup, Once, OnceFunc and OnceValue; tests are
// named after Go's.
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>

#include "support/weft_test.hpp"
#include "weft/chan.hpp"
#include "weft/once.hpp"
#include "weft/wait_group.hpp"

namespace {

using weft_test::for_each_procs;
using weft_test::scaled;

// ---- WaitGroup ----

void meet_twice(const weft::wait_group& first, const weft::wait_group& second) {
  constexpr int n = 16;
  first.add(n);
  second.add(n);
  auto left = weft::make_chan<bool>(n);
  for (int i = 0; i < n; ++i)
    weft::go([first, second, left] {
      first.done();
      second.wait();
      left.send(true);
    });
  first.wait();
  for (int i = 0; i < n; ++i) {
    EXPECT_FALSE(left.try_recv()) << "released too soon";
    second.done();
  }
  for (int i = 0; i < n; ++i) left.recv();
}

TEST(sync, TestWaitGroup) {
  for_each_procs([] {
    weft::wait_group first, second;
    for (int i = 0; i < 8; ++i) meet_twice(first, second);
  });
}

TEST(sync, TestWaitGroupMisuse) {
  weft::wait_group group;
  group.add(1);
  group.done();
  try {
    group.done();
    ADD_FAILURE() << "should throw";
  } catch (const std::logic_error& e) {
    EXPECT_STREQ(e.what(), "sync: negative WaitGroup counter");
  }
  group.wait();   // nothing has changed
}

TEST(sync, TestWaitGroupRace) {
  for_each_procs([] {
    for (int round = 0; round < scaled(1000); ++round) {
      weft::wait_group group;
      std::atomic<int> n{0};
      for (int i = 0; i < 2; ++i) {
        group.add(1);
        weft::go([&] {
          ++n;
          group.done();
        });
      }
      group.wait();
      ASSERT_EQ(n, 2) << "wait() returned too early";
    }
  });
}

TEST(sync, TestWaitGroupGo) {
  for_each_procs([] {
    weft::wait_group group;
    int i = 0;
    group.go([&] { ++i; });
    group.wait();
    EXPECT_EQ(i, 1);
  });
}

TEST(sync, TestIssue76126) {   // an exception inside go() ends the process before anybody's wait() returns
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_EXIT(weft::run([] {
                weft::wait_group group;
                group.go([] { throw std::runtime_error("exception in a wait group"); });
                group.wait();
                _exit(0);
              }),
              testing::ExitedWithCode(2), "exception in a wait group");
}

// ---- Once ----

TEST(sync, TestOnce) {
  for_each_procs([] {
    weft::once_flag once;
    int calls = 0;
    weft::wait_group all;
    for (int i = 0; i < 10; ++i)
      all.go([&] {
        weft::call_once(once, [&] { ++calls; });
        EXPECT_EQ(calls, 1);   // also its effect is visible
      });
    all.wait();
    EXPECT_EQ(calls, 1);
  });
}

TEST(sync, TestOncePanic) {   // differs: std's rule, an exception means that it was not done
  for_each_procs([] {
    weft::once_flag once;
    EXPECT_THROW(weft::call_once(once, [] { throw std::runtime_error("failed"); }), std::runtime_error);
    int calls = 0;
    weft::call_once(once, [&] { ++calls; });
    weft::call_once(once, [&] { ++calls; });
    EXPECT_EQ(calls, 1);
  });
}

// ---- OnceFunc, OnceValue ----

TEST(sync, TestOnceFunc) {
  for_each_procs([] {
    int calls = 0;
    auto f = weft::once_function([&] { ++calls; });
    weft::wait_group all;
    for (int i = 0; i < 10; ++i)
      all.go([f] {
        f();
        f();
      });
    all.wait();
    EXPECT_EQ(calls, 1);
  });
}

TEST(sync, TestOnceValue) {
  for_each_procs([] {
    int calls = 0;
    auto f = weft::once_value([&] { return ++calls; });
    auto copy = f;
    EXPECT_EQ(f(), 1);
    EXPECT_EQ(copy(), 1);
    EXPECT_EQ(&f(), &copy());
    EXPECT_EQ(calls, 1);
  });
}

TEST(sync, TestOnceValues) {
  int calls = 0;
  auto f = weft::once_value([&] {
    ++calls;
    return std::pair(calls, std::string("two"));
  });
  EXPECT_EQ(f().first, 1);
  EXPECT_EQ(f().second, "two");
  EXPECT_EQ(calls, 1);
}

// Every call throws what the first one did, and f runs once.
template <class F>
void expect_same_exception(F f, const int& calls) {
  for (int i = 0; i < 2; ++i) {
    try {
      f();
      ADD_FAILURE() << "should throw";
    } catch (const std::string& what) {
      EXPECT_EQ(what, "x");
    }
  }
  EXPECT_EQ(calls, 1);
}

TEST(sync, TestOnceFuncPanic) {
  int calls = 0;
  expect_same_exception(weft::once_function([&] {
                          ++calls;
                          throw std::string("x");
                        }),
                        calls);
}

TEST(sync, TestOnceValuePanic) {
  int calls = 0;
  expect_same_exception(weft::once_value([&]() -> int {
                          ++calls;
                          throw std::string("x");
                        }),
                        calls);
}

TEST(sync, TestOnceValuesPanic) {
  int calls = 0;
  expect_same_exception(weft::once_value([&]() -> std::pair<int, int> {
                          ++calls;
                          throw std::string("x");
                        }),
                        calls);
}

TEST(sync, TestOnceFuncPanicNil) {
  int calls = 0;
  auto f = weft::once_function([&] {
    ++calls;
    throw nullptr;
  });
  EXPECT_THROW(f(), std::nullptr_t);
  EXPECT_THROW(f(), std::nullptr_t);
  EXPECT_EQ(calls, 1);
}

TEST(sync, TestOnceFuncGoexit) {   // f runs once; later calls say why there is no result
  for_each_procs([] {
    int calls = 0;
    bool refused = false;
    auto f = weft::once_function([&] {
      ++calls;
      weft::this_goroutine::exit();
    });
    for (int i = 0; i < 2; ++i) {
      weft::wait_group one;
      one.go([&] {
        try {
          f();
        } catch (const std::logic_error&) {
          refused = true;
        }
      });
      one.wait();
    }
    EXPECT_EQ(calls, 1);
    EXPECT_TRUE(refused);
  });
}

TEST(sync, TestOnceFuncPanicTraceback) {   // part: the exception itself comes out, its stack has been unwound
  const void* thrown = nullptr;
  auto f = weft::once_function([&] {
    try {
      throw std::runtime_error("first");
    } catch (const std::runtime_error& e) {
      thrown = &e;
      throw;
    }
  });
  for (int i = 0; i < 2; ++i) {
    try {
      f();
      ADD_FAILURE() << "should throw";
    } catch (const std::runtime_error& e) {
      EXPECT_EQ(static_cast<const void*>(&e), thrown);
    }
  }
}

TEST(sync, TestOnceXGC) {   // what the function has captured is released once it has run, however it ended
  auto captured = std::make_shared<int>(0);
  std::weak_ptr<int> watch = captured;
  auto f = weft::once_function([captured] {});
  auto g = weft::once_value([captured]() -> int { throw 1; });
  captured.reset();
  EXPECT_FALSE(watch.expired());
  f();
  EXPECT_FALSE(watch.expired());
  EXPECT_THROW(g(), int);
  EXPECT_TRUE(watch.expired());
  f();
  EXPECT_THROW(g(), int);
}

}  // namespace
