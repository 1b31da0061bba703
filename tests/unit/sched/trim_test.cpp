// trim_test.cpp — stacks of parked goroutines are given back below their stack pointer, and nothing else is.
#include <sys/mman.h>

#include <atomic>
#include <cstring>

#include "os/os.hpp"
#include "sched/sched.hpp"
#include "support/weft_test.hpp"
#include "weft/chan.hpp"
#include "weft/go.hpp"
#include "weft/this_goroutine.hpp"
#include "weft/wait_group.hpp"

using namespace weft::rt;

namespace {

constexpr std::size_t depth = 100 << 10;

// Fills so many bytes of stack and says where the deepest of them lies.
[[gnu::noinline]] std::byte* go_deep(std::size_t bytes, unsigned char with) {
  auto* room = static_cast<std::byte*>(__builtin_alloca(bytes));
  std::memset(room, with, bytes);
  asm volatile("" : "+r"(room) : : "memory");   // the compiler must not know that it is gone then
  return room;
}

bool is_resident(std::byte* at) {
  auto* page = reinterpret_cast<std::byte*>(reinterpret_cast<std::uintptr_t>(at) & ~(os::page_size() - 1));
  unsigned char resident = 0;
  return mincore(page, 1, &resident) == 0 && (resident & 1) != 0;
}

// Deeper than where the goroutine parks, and only for a while: what a trimmer would take from one that runs.
[[gnu::noinline]] bool keeps_what_lies_deep(unsigned char with) {
  unsigned char room[12 << 10];
  std::memset(room, with, sizeof room);
  for (int look = 0; look < 3; ++look) {
    asm volatile("" : : "r"(room) : "memory");
    for (unsigned char c : room)
      if (c != with) return false;
  }
  return true;
}

// Everybody who is parked, also since this instant. Once over all blocks.
void trim_all() {
  while (true) {
    static trim_result r;
    post_to_helper([](void*) { r = trim_step(INT64_MAX); }, nullptr);
    if (r != trim_result::more) return;
  }
}

}  // namespace

TEST(trim, GivesBackWhatIsBelow) {
  weft_test::for_each_procs([] {
    auto deepest = weft::make_chan<std::byte*>();
    auto go_on = weft::make_chan<int>();
    auto result = weft::make_chan<bool>();
    weft::go([=] {
      unsigned char kept[300];
      std::memset(kept, 42, sizeof kept);
      std::byte* at = go_deep(depth, 1);
      deepest.send(at);
      go_on.recv();
      bool good = true;
      for (unsigned char c : kept) good &= c == 42;
      go_deep(depth, 2);
      result.send(good);
    });
    std::byte* at = *deepest.recv();
    EXPECT_TRUE(is_resident(at));
    while (is_resident(at)) {   // until it has parked in go_on.recv()
      weft::this_goroutine::yield();
      trim_all();
    }
    go_on.send(1);
    EXPECT_EQ(result.recv(), true);
  });
}

// Goroutines park and are woken all the time while they are trimmed: no stack loses what it holds, nobody is
// lost.
TEST(trim, NobodyIsHurt) {
  weft_test::for_each_procs([] {
    constexpr int pairs = 8;
    const int turns = weft_test::scaled(3000);
    std::atomic<int> wrong{0}, running{2 * pairs};
    weft::wait_group all;
    auto player = [&](weft::chan<int> in, weft::chan<int> out, bool first) {
      unsigned char kept[2000];
      for (int i = 0; i < turns; ++i) {
        std::memset(kept, i & 0xff, sizeof kept);
        wrong += !keeps_what_lies_deep(static_cast<unsigned char>(i | 1));
        if (first) out.send(i);
        in.recv();
        if (!first) out.send(i);
        for (unsigned char c : kept) wrong += c != (i & 0xff);
      }
      --running;
      all.done();
    };
    for (int p = 0; p < pairs; ++p) {
      auto a = weft::make_chan<int>(), b = weft::make_chan<int>();
      all.add(2);
      weft::go([=] { player(a, b, true); });
      weft::go([=] { player(b, a, false); });
    }
    while (running > 0) trim_all();
    all.wait();
    EXPECT_EQ(wrong, 0);
  });
}
