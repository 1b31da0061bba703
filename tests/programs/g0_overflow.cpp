// g0_overflow.cpp — recursion without end on a thread's own stack, where the scheduler runs: in the commit of
// a park.
#include "sched/inside.hpp"
#include "sched/park.hpp"
#include "weft/runtime.hpp"

namespace {

[[gnu::noinline]] int endless(volatile char* p) noexcept {
  if (p == nullptr) return 0;   // never; but so compilers believe that it ends
  volatile char room[100];
  room[0] = static_cast<char>(*p + 1);
  return endless(room) + room[0];
}

void overflow(void*) noexcept {
  volatile char seed = 0;
  endless(&seed);
}

}  // namespace

int main() {
  weft::run([] {
    weft::rt::inside_parking in;
    weft::rt::park(weft::rt::wait_reason::none, overflow, nullptr);
  });
}
