// context.cpp — fresh contexts, the call on a parked stack, and where a thread keeps what a goroutine
// carries. The frame that the assembly saves is drawn in x86_64.S and aarch64.S; `saved` mirrors it.
#include "context/context.hpp"

#include <cerrno>
#include <cstddef>
#include <cxxabi.h>

#include "base/atomic.hpp"

extern "C" {
void weft_context_begin_after_nop() noexcept;
void weft_call_on_top_of(weft::rt::context of, void (*fn)(void*), void* arg) noexcept;

// MXCSR of a context that never asked for its own. `used`: only weft_switch_fp reads it.
[[gnu::visibility("hidden"), gnu::used]] weft::rt::atomic<std::uint32_t> weft_initial_mxcsr{0x1f80};
}

namespace weft::inline v0::rt {
namespace {

#if defined(__x86_64__)

struct saved {
  std::uint16_t control_word;
  std::uint16_t unused;
  std::uint32_t mxcsr;
  std::uint64_t r15, r14, r13;
  std::uint64_t arg;      // r12
  std::uint64_t entry;    // rbx
  std::uint64_t frame;    // rbp; 0 ends the chain of frame pointers
  std::uint64_t resume;
};
static_assert(sizeof(saved) == 64 && offsetof(saved, mxcsr) == 4 && offsetof(saved, arg) == 32);

using fp_control = std::uint16_t;
fp_control read_fp_control() noexcept {
  fp_control w;
  asm volatile("fnstcw %0" : "=m"(w));
  return w;
}
void write_fp_control(fp_control w) noexcept { asm volatile("fldcw %0" : : "m"(w)); }
std::uint32_t read_mxcsr() noexcept {
  std::uint32_t w;
  asm volatile("stmxcsr %0" : "=m"(w));
  return w;
}
void write_mxcsr(std::uint32_t w) noexcept { asm volatile("ldmxcsr %0" : : "m"(w)); }
constexpr fp_control default_fp_control = 0x37f;
void set_fp_control(saved& s, fp_control w) noexcept { s.control_word = w; }

#elif defined(__aarch64__)

struct saved {
  std::uint64_t frame;    // x29; 0 ends the chain of frame pointers
  std::uint64_t resume;   // x30
  std::uint64_t entry;    // x19
  std::uint64_t arg;      // x20
  std::uint64_t x21_to_x28[8];
  std::uint64_t d8_to_d15[8];
  std::uint64_t fpcr;
  std::uint64_t unused;
};
static_assert(sizeof(saved) == 176 && offsetof(saved, fpcr) == 160);

using fp_control = std::uint64_t;
fp_control read_fp_control() noexcept {
  fp_control w;
  asm volatile("mrs %0, fpcr" : "=r"(w));
  return w;
}
void write_fp_control(fp_control w) noexcept { asm volatile("msr fpcr, %0" : : "r"(w)); }
std::uint32_t read_mxcsr() noexcept { return 0; }   // FPCR is all there is
void write_mxcsr(std::uint32_t) noexcept {}
constexpr fp_control default_fp_control = 0;
void set_fp_control(saved& s, fp_control w) noexcept { s.fpcr = w; }

#endif

atomic<fp_control> initial_fp_control{default_fp_control};
atomic<bool> initial_fp_known{false};

// Two first threads at once would both see the environment that they inherited from the same parent.
// [order] relaxed: single words, each valid by itself; nothing else is published with them.
void remember_initial_fp_env() noexcept {
  if (initial_fp_known.load(relaxed)) return;
  initial_fp_control.store(read_fp_control(), relaxed);
  weft_initial_mxcsr.store(read_mxcsr(), relaxed);
  initial_fp_known.store(true, relaxed);
}

}  // namespace

context make_context(void* stack_top, context_entry entry, void* arg) noexcept {
  auto top = reinterpret_cast<std::uintptr_t>(stack_top) & ~std::uintptr_t{15};
  auto* end_of_chain = reinterpret_cast<std::uint64_t*>(top) - 2;   // for walkers that know no CFI
  end_of_chain[0] = end_of_chain[1] = 0;
  auto* frame = reinterpret_cast<saved*>(end_of_chain) - 1;
  *frame = saved{};
  set_fp_control(*frame, initial_fp_control.load(relaxed));  // [order] relaxed: see remember_initial_fp_env
  frame->entry = reinterpret_cast<std::uint64_t>(entry);
  frame->arg = reinterpret_cast<std::uint64_t>(arg);
  frame->resume = reinterpret_cast<std::uint64_t>(&weft_context_begin_after_nop);
  return {frame};
}

void call_on_top_of(const context& of, void (*fn)(void*), void* arg) noexcept {
  weft_call_on_top_of(of, fn, arg);
}

void reset_fp_env(bool mxcsr_too) noexcept {
  // [order] relaxed: see remember_initial_fp_env
  if (fp_control w = initial_fp_control.load(relaxed); w != read_fp_control()) write_fp_control(w);
  if (mxcsr_too) write_mxcsr(weft_initial_mxcsr.load(relaxed));
}

carried_home find_carried_home() noexcept {
  remember_initial_fp_env();
  return {abi::__cxa_get_globals(), &errno};
}

}  // namespace weft::inline v0::rt
