// race_values_test.cpp — the rest of the correct programs of Go's runtime/race/testdata/chan_test: what is
// read by a send, written by a receive, or handed over by a sender that had to wait.
#include <memory>
#include <optional>
#include <vector>

#include "support/weft_test.hpp"
#include "weft/chan.hpp"
#include "weft/go.hpp"
#include "weft/select.hpp"

namespace {

using weft::nothing;
using weft::on_recv;
using weft::on_send;
using weft_test::for_each_procs;

template <class F>
void often(F body) {
  for_each_procs([&] {
    for (int i = 0; i < weft_test::scaled(200, 20); ++i) body();
  });
}

TEST(race_values, TestNoRaceChanReadWriteAsync) {   // read before it is sent, written when received
  often([] {
    int x = 1;
    auto c = weft::make_chan<int>(10);
    auto done = weft::make_chan<bool>();
    weft::go([&x, c, done] {
      c.send(x);
      done.send(true);
    });
    x = *c.recv() + 1;
    done.recv();
    EXPECT_EQ(x, 2);
  });
}

TEST(race_values, TestNoRaceSelectReadWriteAsync) {   // the same where both select
  often([] {
    int x = 1;
    auto c = weft::make_chan<int>(), never = weft::make_chan<int>();
    auto done = weft::make_chan<bool>();
    weft::go([&x, c, never, done] {
      weft::select(on_send(c, x, nothing), on_recv(never, nothing));
      done.send(true);
    });
    weft::select(on_recv(c, [&](std::optional<int> v) { x = *v + 1; }), on_recv(never, nothing));
    done.recv();
    EXPECT_EQ(x, 2);
  });
}

TEST(race_values, TestNoRaceChanWaitGroup) {   // whoever fills the buffer knows that all have left it
  often([] {
    constexpr std::size_t parties = 10;
    struct shared {
      std::vector<int> data = std::vector<int>(parties);
      weft::chan<bool> working = weft::make_chan<bool>(parties / 2);
    };
    auto s = std::make_shared<shared>();
    for (std::size_t i = 0; i < parties; ++i) {
      s->working.send(true);
      weft::go([s, i] {
        s->data[i] = 42;
        s->working.recv();
      });
    }
    for (std::size_t i = 0; i < parties / 2; ++i) s->working.send(true);
    for (int v : s->data) EXPECT_EQ(v, 42);
  });
}

TEST(race_values, TestNoRaceBlockedSelectSendSync) {   // from a waiting sender to a select
  often([] {
    auto c = weft::make_chan<std::shared_ptr<int>>(1);
    auto never = weft::make_chan<int>();
    c.send(nullptr);
    weft::go([c] { c.send(std::make_shared<int>(42)); });
    weft::this_goroutine::yield();   // it waits now, or does not: silent either way
    c.recv();
    int got = 0;
    auto read = [&](std::optional<std::shared_ptr<int>> p) { got = **p; };
    weft::select(on_recv(c, read), on_recv(never, nothing));
    EXPECT_EQ(got, 42);
  });
}

}  // namespace
