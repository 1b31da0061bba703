// Exceptions and errno on a context, and on their way from one thread to another.
#include <gtest/gtest.h>

#include <cerrno>
#include <exception>
#include <stdexcept>
#include <string>
#include <thread>

#include "unit/context/coroutine.hpp"

using weft_test::coroutine;
namespace rt = weft::rt;

namespace {

// A turn of the coroutine that takes its exception state and errno along, as the scheduler does.
void resume_carrying(coroutine& c, rt::carried_state& state) {
  rt::carried_home home = rt::find_carried_home();
  rt::carried_state mine;
  rt::save_carried(mine, home);
  rt::load_carried(state, home);
  c.resume();
  rt::save_carried(state, home);
  rt::load_carried(mine, home);
}

[[gnu::noinline]] void throw_from_depth(int depth, const std::string& text) {
  std::string on_the_way = text + "!";   // a destructor to run
  if (depth == 0) throw std::runtime_error(on_the_way);
  throw_from_depth(depth - 1, text);
}

TEST(Carried, ExceptionThrownAndCaughtInsideAContext) {
  std::string caught;
  coroutine c([&](coroutine& self) {
    try {
      throw_from_depth(5, "deep");
    } catch (const std::runtime_error& e) {
      caught = e.what();
    }
    self.yield();
    try {
      throw_from_depth(2, "again");
    } catch (const std::exception& e) {
      caught += e.what();
    }
  });
  c.resume();
  EXPECT_EQ(caught, "deep!");
  c.resume();
  EXPECT_EQ(caught, "deep!again!");
}

TEST(Carried, ParkedInACatchBlockAndRethrownOnAnotherThread) {
  std::string caught;
  rt::carried_state state;
  coroutine c([&](coroutine& self) {
    try {
      try {
        throw_from_depth(3, "travelling");
      } catch (...) {
        self.yield();
        throw;
      }
    } catch (const std::runtime_error& e) {
      caught = e.what();
    }
  });
  resume_carrying(c, state);
  EXPECT_NE(state.caught_exceptions, nullptr);
  EXPECT_EQ(std::current_exception(), nullptr) << "the exception stayed on the first thread";
  std::thread([&] {
    // A handled exception of the other thread's own must be there afterwards.
    try {
      throw std::logic_error("the thread's own");
    } catch (const std::logic_error&) {
      resume_carrying(c, state);
      try {
        throw;
      } catch (const std::exception& e) {
        EXPECT_STREQ(e.what(), "the thread's own");
      }
    }
  }).join();
  EXPECT_TRUE(c.done());
  EXPECT_EQ(caught, "travelling!");
  EXPECT_EQ(state.caught_exceptions, nullptr);
}

TEST(Carried, UncaughtExceptionsTravel) {
  int inside_before = -1, inside_after = -1;
  rt::carried_state state;
  coroutine c([&](coroutine& self) {
    struct parks_when_destroyed {
      coroutine& co;
      int &before, &after;
      ~parks_when_destroyed() {
        before = std::uncaught_exceptions();
        co.yield();
        after = std::uncaught_exceptions();
      }
    };
    try {
      parks_when_destroyed p{self, inside_before, inside_after};
      throw 1;
    } catch (int) {
    }
  });
  resume_carrying(c, state);
  EXPECT_EQ(std::uncaught_exceptions(), 0);
  EXPECT_EQ(state.uncaught_exceptions, 1u);
  std::thread([&] {
    resume_carrying(c, state);
    EXPECT_EQ(std::uncaught_exceptions(), 0);
  }).join();
  EXPECT_EQ(inside_before, 1);
  EXPECT_EQ(inside_after, 1);
}

[[gnu::noinline]] int errno_now() { return *rt::find_carried_home().errno_location; }

TEST(Carried, ErrnoTravels) {
  int seen = 0;
  rt::carried_state state;
  coroutine c([&](coroutine& self) {
    *rt::find_carried_home().errno_location = ENOTDIR;
    self.yield();
    seen = errno_now();
  });
  errno = EAGAIN;
  resume_carrying(c, state);
  EXPECT_EQ(errno, EAGAIN);
  std::thread([&] {
    *rt::find_carried_home().errno_location = EPERM;
    resume_carrying(c, state);
    EXPECT_EQ(errno_now(), EPERM);
  }).join();
  EXPECT_EQ(seen, ENOTDIR);
}

}  // namespace
