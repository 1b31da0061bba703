// hello.cpp — goroutines, a channel, a join handle and a select in thirty lines.
#include <chrono>
#include <cstdio>
#include <optional>
#include <string>

#include "weft/weft.hpp"

using namespace std::chrono_literals;

int main() {
  return weft::run([] {
    auto greetings = weft::make_chan<std::string>();
    for (const char* who : {"warp", "weft"})
      weft::go([=] { greetings.send(std::string("hello from ") + who); });
    for (int i = 0; i < 2; ++i) std::puts(greetings.recv()->c_str());

    weft::join_handle<int> answer = weft::spawn([](int a, int b) { return a * b; }, 6, 7);
    std::printf("the answer is %d\n", answer.join());

    auto never = weft::make_chan<int>();
    weft::select(weft::on_recv(never, [](std::optional<int>) {}),
                 weft::on_timeout(10ms, [] { std::puts("nobody sent anything for 10 ms"); }));
    return 0;
  });
}
