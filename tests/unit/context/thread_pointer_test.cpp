// The accessor reads the thread that runs, also after the context has moved to another.
#include <gtest/gtest.h>

#include <thread>

#include "context/thread_pointer.hpp"
#include "unit/context/coroutine.hpp"

using weft_test::coroutine;
namespace rt = weft::rt;

namespace {

rt::machine* fake(std::uintptr_t n) { return reinterpret_cast<rt::machine*>(n); }

TEST(ThreadPointer, IsReadAnewAfterASwitch) {
  rt::machine *first = nullptr, *second = nullptr;
  coroutine c([&](coroutine& self) {
    first = rt::this_machine();
    self.yield();
    second = rt::this_machine();   // one function, two threads
  });
  auto turn_on_a_thread = [&](std::uintptr_t n) {
    std::thread([&, n] {
      EXPECT_EQ(rt::this_machine(), nullptr);
      rt::set_this_machine(fake(n));
      c.resume();
      rt::set_this_machine(nullptr);
    }).join();
  };
  turn_on_a_thread(16);
  turn_on_a_thread(32);
  EXPECT_EQ(first, fake(16));
  EXPECT_EQ(second, fake(32));
}

}  // namespace
