// race.cpp — wrong programs: two goroutines write one variable and nothing orders them. ThreadSanitizer has
// to say so, though they take turns: by an atomic without an order, which it does not count.
#include <atomic>
#include <chrono>
#include <cstdio>
#include <mutex>
#include <string_view>

#include "weft/chan.hpp"
#include "weft/go.hpp"
#include "weft/mutex.hpp"
#include "weft/runtime.hpp"
#include "weft/this_goroutine.hpp"
#include "weft/timer.hpp"
#include "weft/wait_group.hpp"

int x = 0;   // not in the namespace below: the compiler would see that nobody reads it

namespace {

using namespace std::chrono_literals;

std::atomic<int> turn{0};

void wait_for_turn(int n) {
  while (turn.load(std::memory_order_relaxed) != n) weft::this_goroutine::yield();
}
void next_turn() { turn.fetch_add(1, std::memory_order_relaxed); }

// The first goroutine lives on, here and below, or the second might get its stack, which is an edge.
void plain() {
  weft::go([] { x = 1; next_turn(); wait_for_turn(2); });
  weft::go([] { wait_for_turn(1); x = 2; next_turn(); });
  wait_for_turn(2);
}

void chan() {   // with a buffer, what follows a send is not before its receive
  auto c = weft::make_chan<int>(10);
  weft::go([c] { c.send(0); x = 1; next_turn(); });
  wait_for_turn(1);
  c.recv();
  x = 2;
}

void mutex() {   // what follows an unlock is not before the next lock
  static weft::mutex m;
  weft::go([] { m.lock(); m.unlock(); x = 1; next_turn(); wait_for_turn(2); });
  weft::go([] {
    wait_for_turn(1);
    std::lock_guard lock(m);
    x = 2;
    next_turn();
  });
  wait_for_turn(2);
}

void wait_group() {   // nor are those who are waited for
  weft::wait_group all;
  all.add(2);
  weft::go([&] { x = 1; all.done(); next_turn(); wait_for_turn(2); });
  weft::go([&] { wait_for_turn(1); x = 2; all.done(); next_turn(); });
  all.wait();
}

// Nor two timers.
void timer() {
  weft::after(1ms, [] { x = 1; next_turn(); wait_for_turn(2); });
  weft::after(2ms, [] { wait_for_turn(1); x = 2; next_turn(); });
  wait_for_turn(2);
}

void none() {   // the same with an edge
  auto c = weft::make_chan<int>();
  weft::go([c] { x = 1; c.send(0); });
  c.recv();
  x = 2;
}

}  // namespace

int main(int argc, char** argv) {
  struct {
    std::string_view name;
    void (*f)();
  } const programs[] = {{"plain", plain},           {"chan", chan},   {"mutex", mutex},
                        {"wait_group", wait_group}, {"timer", timer}, {"none", none}};
  for (auto& p : programs)
    if (argc == 2 && p.name == argv[1]) {
      weft::run([&] { p.f(); });
      return 0;
    }
  std::fprintf(stderr, "race: which?\n");
  return 1;
}
