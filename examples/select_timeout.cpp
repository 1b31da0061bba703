// select_timeout.cpp — ask two servers, take the first answer, give up after 50 ms.
#include <chrono>
#include <cstdio>
#include <optional>

#include "weft/weft.hpp"

using namespace std::chrono_literals;

// A server answers with its own delay, to whoever still listens: a buffer of one lets it end if nobody does.
static weft::chan<int> ask(std::chrono::milliseconds delay) {
  auto reply = weft::make_chan<int>(1);
  weft::go([=] {
    weft::this_goroutine::sleep_for(delay);
    reply.send(static_cast<int>(delay.count()));
  });
  return reply;
}

static std::optional<int> first_reply(weft::chan<int> a, weft::chan<int> b) {
  std::optional<int> reply;
  weft::select(weft::on_recv(a, [&](std::optional<int> v) { reply = v; }),
               weft::on_recv(b, [&](std::optional<int> v) { reply = v; }),
               weft::on_timeout(50ms, [] {}));
  return reply;
}

static void print(const char* question, std::optional<int> reply) {
  if (reply) std::printf("%s: the server that needs %d ms was first\n", question, *reply);
  else std::printf("%s: no reply within 50 ms\n", question);
}

int main() {
  return weft::run([] {
    const auto quick = first_reply(ask(30ms), ask(10ms));
    const auto slow = first_reply(ask(300ms), ask(200ms));
    print("10 ms or 30 ms", quick);
    print("200 ms or 300 ms", slow);
    return quick && !slow ? 0 : 1;
  });
}
