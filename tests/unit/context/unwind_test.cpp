// Unwinders leave a context cleanly, stop at its entry, and see the frames of one that is parked.
#include <gtest/gtest.h>
#include <unwind.h>

#include <vector>

#include "unit/context/coroutine.hpp"

using weft_test::coroutine;
namespace rt = weft::rt;

extern "C" {
void weft_context_begin() noexcept;
void weft_call_on_top_of(rt::context of, void (*fn)(void*), void* arg) noexcept;
}

namespace {

struct trace {
  std::vector<std::uintptr_t> functions;   // the beginning of each frame's function, innermost first
  _Unwind_Reason_Code end = _URC_NO_REASON;

  void take() {
    end = _Unwind_Backtrace(
        [](_Unwind_Context* frame, void* self) {
          auto& found = static_cast<trace*>(self)->functions;
          if (_Unwind_GetIP(frame) != 0) found.push_back(_Unwind_GetRegionStart(frame));
          return found.size() < 200 ? _URC_NO_REASON : _URC_NORMAL_STOP;
        },
        this);
  }
  template <class F>
  std::ptrdiff_t position(F* function) const {   // -1: not there
    for (std::size_t i = 0; i < functions.size(); ++i)
      if (functions[i] == reinterpret_cast<std::uintptr_t>(function)) return static_cast<std::ptrdiff_t>(i);
    return -1;
  }
};

coroutine* running;
trace* taken;

[[gnu::noinline]] void inner() {
  if (taken) taken->take();
  running->yield();
  asm volatile("");
}
[[gnu::noinline]] void middle() {
  inner();
  asm volatile("");
}
[[gnu::noinline]] void outer() {
  middle();
  asm volatile("");
}

TEST(Unwind, StopsAtTheEntry) {
  trace t;
  taken = &t;
  coroutine c([](coroutine&) { outer(); });
  running = &c;
  c.resume();
  taken = nullptr;
  EXPECT_EQ(t.end, _URC_END_OF_STACK);
  EXPECT_GE(t.position(inner), 0);
  EXPECT_LT(t.position(inner), t.position(middle));
  EXPECT_LT(t.position(middle), t.position(outer));
  ASSERT_FALSE(t.functions.empty());
  EXPECT_EQ(t.position(weft_context_begin), static_cast<std::ptrdiff_t>(t.functions.size()) - 1);
  c.resume();
}

TEST(Unwind, CallOnTopOfSeesTheParkedFrames) {
  for (bool fp : {false, true}) {
    coroutine c([](coroutine&) { outer(); });
    c.carry_mxcsr(fp);
    running = &c;
    c.resume();
    rt::context before = c.parked();
    trace t;
    rt::call_on_top_of(c.parked(), [](void* into) { static_cast<trace*>(into)->take(); }, &t);
    EXPECT_EQ(c.parked().sp, before.sp);
    EXPECT_EQ(t.end, _URC_END_OF_STACK);
    ASSERT_GE(t.position(inner), 0);
    EXPECT_LT(t.position(weft_call_on_top_of), t.position(inner));
    EXPECT_LT(t.position(inner), t.position(middle));
    EXPECT_LT(t.position(middle), t.position(outer));
    EXPECT_EQ(t.position(weft_context_begin), static_cast<std::ptrdiff_t>(t.functions.size()) - 1);
    c.resume();   // nothing of it changed
    EXPECT_TRUE(c.done());
  }
}

TEST(Unwind, CallOnTopOfAContextThatNeverRan) {
  bool ran = false;
  coroutine c([&](coroutine&) { ran = true; });
  trace t;
  rt::call_on_top_of(c.parked(), [](void* into) { static_cast<trace*>(into)->take(); }, &t);
  EXPECT_EQ(t.end, _URC_END_OF_STACK);
  ASSERT_FALSE(t.functions.empty());
  EXPECT_EQ(t.position(weft_context_begin), static_cast<std::ptrdiff_t>(t.functions.size()) - 1);
  EXPECT_FALSE(ran);
  c.resume();
  EXPECT_TRUE(ran);
}

// An exception that nobody catches reaches terminate with all frames still there.
TEST(UnwindDeathTest, UncaughtExceptionTerminatesWhereItWasThrown) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        std::set_terminate([] {
          trace t;
          t.take();
          std::_Exit(t.position(weft_context_begin) > 0 ? 7 : 8);
        });
        coroutine c([](coroutine&) { throw 1; });
        c.resume();
      },
      testing::ExitedWithCode(7), "");
}

}  // namespace
