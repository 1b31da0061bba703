// An overflow ends the process with a report, whatever kind of guard there is; other faults go their old way.
#include <gtest/gtest.h>
#include <signal.h>

#include <csetjmp>
#include <cstdlib>
#include <thread>

#include "base/print.hpp"
#include "context/context.hpp"
#include "stack/helpers.hpp"

using namespace weft_test;

namespace {

// A fault that is no stack's, nor a null pointer for UBSan.
void touch_nothing() {
  volatile std::uintptr_t nowhere = 8;
  *reinterpret_cast<volatile int*>(nowhere) = 1;
}

void report(const rt::stack& which, const void* address, const void* ucontext) noexcept {
  rt::printer() << "overflow of " << which.size() / 1024 << " KiB, "
                << (address < which.bottom ? "below" : "?") << (ucontext ? ", fault\n" : ", found later\n");
}

[[gnu::noinline]] int recurse(int depth) {
  volatile char frame[512] = {};
  frame[depth % 512] = 1;
  return depth < 0 ? 0 : recurse(depth + 1) + frame[0];
}

rt::context home;

void run_on(const rt::stack& s, rt::context_entry body) {
  rt::weft_switch(&home, rt::make_context(s.top, body, nullptr));
}

void overflow_on_a_thread() {
  rt::install_overflow_handler(report);
  std::thread([] {
    rt::install_alternate_stack();
    run_on(rt::stack_allocate(0), [](void*) { recurse(0); });
  }).join();
}

class OverflowDeathTest : public testing::Test {
 protected:
  void SetUp() override { GTEST_FLAG_SET(death_test_style, "threadsafe"); }
};

TEST_F(OverflowDeathTest, IsReportedOnTheAlternateStack) {
  EXPECT_EXIT(overflow_on_a_thread(), testing::ExitedWithCode(2), "overflow of 19. KiB, below, fault");
}

TEST_F(OverflowDeathTest, WithGuardsByProtection) {
  EXPECT_EXIT(
      {
        rt::stack_init({});
        rt::guard_start_at(rt::guard_kind::protection, 100);
        overflow_on_a_thread();
      },
      testing::ExitedWithCode(2), "overflow of 19. KiB, below, fault");
}

TEST_F(OverflowDeathTest, WithoutGuardIsFoundWhenTheStackComesBack) {
  EXPECT_EXIT(
      {
        rt::install_overflow_handler(report);
        rt::stack_init({});
        rt::guard_start_at(rt::guard_kind::none, 0);
        rt::stack s = rt::stack_allocate(0);
        rt::stack clean = rt::stack_allocate(0);
        if (rt::stack_statistics().unguarded != 2) std::_Exit(3);
        rt::stack_check(clean);
        rt::stack_free(clean);
        *reinterpret_cast<volatile char*>(s.bottom - 5'000) = 1;   // what an overflow does
        rt::stack_free(s);
      },
      testing::ExitedWithCode(2), "without guard(.|\n)*overflow of 19. KiB, below, found later");
}

TEST_F(OverflowDeathTest, StrictGuardsRefuseUnguardedStacks) {
  EXPECT_EXIT(
      {
        rt::stack_init({.strict_guards = true});
        rt::guard_start_at(rt::guard_kind::protection, 1);
        bool first = static_cast<bool>(rt::stack_allocate(0));
        bool second = static_cast<bool>(rt::stack_allocate(0));
        bool large = static_cast<bool>(rt::stack_allocate(1 << 20));
        std::_Exit(first && !second && !large ? 5 : 6);
      },
      testing::ExitedWithCode(5), "");
}

TEST_F(OverflowDeathTest, ProtectedGuardsSurviveScavengingAndStayBelowTheLimit) {
  EXPECT_EXIT(
      {
        rt::stack_init({});
        rt::guard_start_at(rt::guard_kind::protection, 50);
        rt::stack s[100];
        for (auto& x : s) x = rt::stack_allocate(0);
        bool ok = rt::stack_statistics().unguarded == 50;
        ok = ok && fault_at(s[49].bottom - 1) == EFAULT && fault_at(s[50].bottom - 1) == 0;
        std::_Exit(ok ? 5 : 6);
      },
      testing::ExitedWithCode(5), "without guard");
}

TEST_F(OverflowDeathTest, DefaultSizeIsASetting) {
  EXPECT_EXIT(
      {
        rt::stack_init({.default_size = 16 << 10});
        rt::stack s = rt::stack_allocate(0);
        bool ok = rt::stack_default_size() == 20 << 10 && s.size() >= 10 << 10;
        ok = ok && fault_at(s.bottom - 1) == EFAULT && fault_at(s.bottom) == 0;
        std::_Exit(ok ? 5 : 6);
      },
      testing::ExitedWithCode(5), "");
}

TEST_F(OverflowDeathTest, OtherFaultsGoToTheHandlerThatWasThere) {
  EXPECT_EXIT(
      {
        signal(SIGSEGV, [](int) { std::_Exit(9); });
        rt::install_overflow_handler(report);
        touch_nothing();
      },
      testing::ExitedWithCode(9), "");
}

TEST_F(OverflowDeathTest, OtherFaultsDieByDefault) {
  EXPECT_EXIT(
      {
        signal(SIGSEGV, SIG_DFL);   // a sanitizer has its own
        rt::install_overflow_handler(report);
        raise(SIGSEGV);             // sent, not raised by an instruction
      },
      testing::KilledBySignal(SIGSEGV), "");
}

TEST(AlternateStack, IsThereAndGoes) {
  std::thread([] {
    stack_t before{}, during{}, after{};
    sigaltstack(nullptr, &before);
    rt::install_alternate_stack();
    sigaltstack(nullptr, &during);
    EXPECT_FALSE(during.ss_flags & SS_DISABLE);
    if (before.ss_flags & SS_DISABLE) {   // a sanitizer may have given the thread one
      EXPECT_GE(during.ss_size, 60u * 1024);
    }
    rt::remove_alternate_stack();
    sigaltstack(nullptr, &after);
    EXPECT_EQ(after.ss_flags & SS_DISABLE, before.ss_flags & SS_DISABLE);
  }).join();
}

}  // namespace
