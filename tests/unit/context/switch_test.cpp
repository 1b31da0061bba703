// What the switch itself carries: registers, stack, floating-point control.
#include <gtest/gtest.h>

#include <array>
#include <cfenv>
#include <cstdint>

#include "unit/context/coroutine.hpp"

using weft_test::coroutine;
namespace rt = weft::rt;

// weft_test_registers(call, arg, seed, out): fills every callee-saved register with seed, seed+1, ..., calls
// call(arg), and stores what they hold afterwards in out.
extern "C" void weft_test_registers(void (*call)(void*), void* arg, std::uint64_t seed, std::uint64_t* out);

#if defined(__x86_64__)
constexpr std::size_t register_count = 6;
asm(R"(
  .text
  .type weft_test_registers, @function
weft_test_registers:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  pushq %rcx
  movq %rdx, %rbx
  leaq 1(%rdx), %rbp
  leaq 2(%rdx), %r12
  leaq 3(%rdx), %r13
  leaq 4(%rdx), %r14
  leaq 5(%rdx), %r15
  movq %rdi, %rax
  movq %rsi, %rdi
  callq *%rax
  popq %rcx
  movq %rbx, (%rcx)
  movq %rbp, 8(%rcx)
  movq %r12, 16(%rcx)
  movq %r13, 24(%rcx)
  movq %r14, 32(%rcx)
  movq %r15, 40(%rcx)
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
  .size weft_test_registers, . - weft_test_registers
)");
#elif defined(__aarch64__)
constexpr std::size_t register_count = 19;   // x19 to x29, d8 to d15
asm(R"(
  .text
  .type weft_test_registers, %function
weft_test_registers:
  stp x29, x30, [sp, #-192]!
  stp x19, x20, [sp, #16]
  stp x21, x22, [sp, #32]
  stp x23, x24, [sp, #48]
  stp x25, x26, [sp, #64]
  stp x27, x28, [sp, #80]
  stp d8, d9, [sp, #96]
  stp d10, d11, [sp, #112]
  stp d12, d13, [sp, #128]
  stp d14, d15, [sp, #144]
  str x3, [sp, #160]
  mov x9, x0
  mov x0, x1
  mov x19, x2
  add x20, x2, #1
  add x21, x2, #2
  add x22, x2, #3
  add x23, x2, #4
  add x24, x2, #5
  add x25, x2, #6
  add x26, x2, #7
  add x27, x2, #8
  add x28, x2, #9
  add x29, x2, #10
  add x10, x2, #11
  fmov d8, x10
  add x10, x2, #12
  fmov d9, x10
  add x10, x2, #13
  fmov d10, x10
  add x10, x2, #14
  fmov d11, x10
  add x10, x2, #15
  fmov d12, x10
  add x10, x2, #16
  fmov d13, x10
  add x10, x2, #17
  fmov d14, x10
  add x10, x2, #18
  fmov d15, x10
  blr x9
  ldr x3, [sp, #160]
  stp x19, x20, [x3]
  stp x21, x22, [x3, #16]
  stp x23, x24, [x3, #32]
  stp x25, x26, [x3, #48]
  stp x27, x28, [x3, #64]
  str x29, [x3, #80]
  add x3, x3, #88
  str d8, [x3]
  str d9, [x3, #8]
  str d10, [x3, #16]
  str d11, [x3, #24]
  str d12, [x3, #32]
  str d13, [x3, #40]
  str d14, [x3, #48]
  str d15, [x3, #56]
  ldp x19, x20, [sp, #16]
  ldp x21, x22, [sp, #32]
  ldp x23, x24, [sp, #48]
  ldp x25, x26, [sp, #64]
  ldp x27, x28, [sp, #80]
  ldp d8, d9, [sp, #96]
  ldp d10, d11, [sp, #112]
  ldp d12, d13, [sp, #128]
  ldp d14, d15, [sp, #144]
  ldp x29, x30, [sp], #192
  ret
  .size weft_test_registers, . - weft_test_registers
)");
#endif

namespace {

using registers = std::array<std::uint64_t, register_count>;

void expect_pattern(const registers& r, std::uint64_t seed) {
  for (std::size_t i = 0; i < r.size(); ++i) EXPECT_EQ(r[i], seed + i) << "register " << i;
}

// More than 1 when rounding is upward: in the SSE unit, and in the x87 unit (FPCR for both on aarch64).
double one_and_a_bit() {
  volatile double one = 1, bit = 1e-60;
  return one + bit;
}
long double long_one_and_a_bit() {
  volatile long double one = 1, bit = 1e-60L;
  return one + bit;
}

struct environment_guard {   // whatever a test does, the next one starts as it was
  std::fenv_t kept;
  environment_guard() { std::fegetenv(&kept); }
  ~environment_guard() { std::fesetenv(&kept); }
};

TEST(Switch, FreshContextGetsItsArgumentAndAnAlignedStack) {
  bool ran = false;
  std::uintptr_t alignment = 1;
  coroutine c([&](coroutine&) {
    alignas(16) volatile char probe[16] = {};
    alignment = reinterpret_cast<std::uintptr_t>(&probe) % 16;
    ran = true;
  });
  c.resume();
  EXPECT_TRUE(ran);
  EXPECT_TRUE(c.done());
  EXPECT_EQ(alignment, 0u);
}

TEST(Switch, StackTopNeedNotBeAligned) {
  alignas(64) static std::byte memory[64 * 1024];
  static rt::context home, left;
  static std::uintptr_t seen;
  for (std::size_t off = 0; off < 16; ++off) {
    auto body = [](void* arg) {
      seen = reinterpret_cast<std::uintptr_t>(arg);
      rt::weft_switch(&left, home);
    };
    void* arg = reinterpret_cast<void*>(off + 1);
    rt::weft_switch(&home, rt::make_context(memory + sizeof(memory) - off, body, arg));
    EXPECT_EQ(seen, off + 1);
  }
}

TEST(Switch, KeepsCalleeSavedRegistersOnBothSides) {
  registers inner{}, outer{};
  coroutine c([&](coroutine& self) {
    weft_test_registers([](void* co) { static_cast<coroutine*>(co)->yield(); }, &self, 7000, inner.data());
  });
  auto resume = [](void* co) { static_cast<coroutine*>(co)->resume(); };
  for (bool fp : {false, true}) {
    c.carry_mxcsr(fp);
    weft_test_registers(resume, &c, 1000, outer.data());
    expect_pattern(outer, 1000);
  }
  ASSERT_TRUE(c.done());
  expect_pattern(inner, 7000);
}

TEST(Switch, ManySwitchesAreStable) {
  long sum = 0;
  coroutine c([&](coroutine& self) {
    for (long i = 0; i < 100'000; ++i) {
      sum += i;
      self.yield();
    }
  });
  while (!c.done()) c.resume();
  EXPECT_EQ(sum, 100'000L * 99'999 / 2);
}

TEST(Switch, CarriesTheX87ControlWord) {
  environment_guard keep;
  long double up = 0, near_inside = 0;
  coroutine c([&](coroutine& self) {
    near_inside = long_one_and_a_bit();
    std::fesetround(FE_UPWARD);
    self.yield();
    up = long_one_and_a_bit();
  });
  long double nearest = long_one_and_a_bit();
  c.resume();
  EXPECT_EQ(long_one_and_a_bit(), nearest) << "the goroutine's rounding came back with the switch";
  c.resume();
  EXPECT_EQ(near_inside, nearest);
  EXPECT_GT(up, nearest) << "the goroutine lost its rounding";
}

TEST(Switch, CarriesMxcsrWhenAsked) {
  environment_guard keep;
  double up = 0;
  coroutine c([&](coroutine& self) {
    std::fesetround(FE_UPWARD);
    self.yield();
    up = one_and_a_bit();
  });
  c.carry_mxcsr(true);
  double nearest = one_and_a_bit();
  c.resume();
  EXPECT_EQ(one_and_a_bit(), nearest);
  c.resume();
  EXPECT_GT(up, nearest);
}

TEST(Switch, EitherFormResumesWhatTheOtherSaved) {
  environment_guard keep;
  double first = 0, second = 0;
  coroutine c([&](coroutine& self) {
    self.yield();
    first = one_and_a_bit();
    self.carry_mxcsr(true);
    self.yield();
    second = one_and_a_bit();
  });
  double nearest = one_and_a_bit();
  c.resume();                     // saved by weft_switch
  c.carry_mxcsr(true);
  std::fesetround(FE_UPWARD);
  c.resume();                     // resumed by weft_switch_fp: gets the initial MXCSR, not ours
  EXPECT_EQ(first, nearest);
  EXPECT_GT(one_and_a_bit(), nearest) << "ours came back";
  c.carry_mxcsr(false);
  c.resume();                     // saved by weft_switch_fp, resumed by weft_switch
  EXPECT_TRUE(c.done());
}

TEST(Switch, ResetGivesAFreshEnvironment) {
  environment_guard keep;
  rt::find_carried_home();        // remembers the environment at the latest now
  double nearest = one_and_a_bit();
  long double long_nearest = long_one_and_a_bit();
  std::fesetround(FE_UPWARD);
  rt::reset_fp_env(true);
  EXPECT_EQ(one_and_a_bit(), nearest);
  EXPECT_EQ(long_one_and_a_bit(), long_nearest);
}

}  // namespace
