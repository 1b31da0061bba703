// race_chan_test.cpp — the correct programs of Go's runtime/race/testdata chan_test and select_test: plain
// variables that only the edges of channel operations order. They run in every build; ThreadSanitizer must
// report nothing.
//
//   a send happens before the receive of its value completes
//   the k-th receive happens before the (k+C)-th send completes
//   close happens before a receive that reports it
#include <memory>
#include <string>
#include <vector>

#include "support/weft_test.hpp"
#include "weft/chan.hpp"
#include "weft/go.hpp"
#include "weft/select.hpp"

namespace {

using weft::nothing;
using weft::on_recv;
using weft::on_send;
using weft::otherwise;
using weft_test::for_each_procs;

// Each body is run often and at 1 to 8 processors, so that both sides come first.
template <class F>
void often(F body) {
  for_each_procs([&] {
    for (int i = 0; i < weft_test::scaled(200, 20); ++i) body();
  });
}

struct shared {   // what a racy program would race on; lives as long as either goroutine
  int v = 0;
};
std::shared_ptr<shared> fresh() { return std::make_shared<shared>(); }

TEST(race_chan, TestNoRaceChanSync) {   // unbuffered: send before receive
  often([] {
    auto x = fresh();
    auto c = weft::make_chan<int>();
    weft::go([=] { x->v = 1; c.send(0); });
    c.recv();
    x->v = 2;
  });
}

TEST(race_chan, TestNoRaceChanSyncRev) {   // unbuffered: receive before the send completes
  often([] {
    auto x = fresh();
    auto c = weft::make_chan<int>();
    weft::go([=] { c.send(0); x->v = 2; });
    x->v = 1;
    c.recv();
    c.try_close();
  });
}

TEST(race_chan, TestNoRaceChanAsync) {
  often([] {
    auto x = fresh();
    auto c = weft::make_chan<int>(10);
    weft::go([=] { x->v = 1; c.send(0); });
    c.recv();
    x->v = 2;
  });
}

TEST(race_chan, TestNoRaceChanAsyncCloseRecv) {   // close before the receive that reports it
  often([] {
    for (int form = 0; form < 4; ++form) {
      auto x = fresh();
      auto c = weft::make_chan<int>(10);
      weft::go([=] { x->v = 1; c.close(); });
      switch (form) {
        case 0: c.recv(); break;
        case 1:
          for (int v : c) static_cast<void>(v);
          break;
        case 2: weft::select(on_recv(c, nothing), on_recv(weft::make_chan<int>(), nothing)); break;
        case 3:
          while (c.try_recv() == weft::errc::empty) weft::this_goroutine::yield();
      }
      x->v = 2;
    }
  });
}

TEST(race_chan, TestNoRaceChanSyncCloseRecv) {
  often([] {
    auto x = fresh();
    auto c = weft::make_chan<int>();
    weft::go([=] { x->v = 1; c.close(); });
    c.recv();
    x->v = 2;
  });
}

TEST(race_chan, TestNoRaceProducerConsumerUnbuffered) {
  struct task {
    int value;
    weft::chan<bool> done;
  };
  often([] {
    auto queue = weft::make_chan<std::shared_ptr<task>>();
    weft::go([=] {
      auto t = *queue.recv();
      t->value = 2;
      t->done.send(true);
    });
    auto t = std::make_shared<task>(task{1, weft::make_chan<bool>()});
    queue.send(t);
    t->done.recv();
    EXPECT_EQ(t->value, 2);
  });
}

TEST(race_chan, TestNoRaceChanBufferIsMutex) {   // the k-th receive before the (k+C)-th send completes
  often([] {
    constexpr int parties = 4;
    auto x = fresh();
    auto semaphore = weft::make_chan<int>(1), done = weft::make_chan<int>();
    for (int p = 0; p < parties; ++p)
      weft::go([=] {
        for (int i = 0; i < 10; ++i) {
          semaphore.send(1);
          ++x->v;
          semaphore.recv();
        }
        done.send(1);
      });
    for (int p = 0; p < parties; ++p) done.recv();
    EXPECT_EQ(x->v, parties * 10);
  });
}

TEST(race_chan, TestNoRaceChanMutexUnbuffered) {
  often([] {
    auto x = fresh();
    auto mutex = weft::make_chan<int>(), done = weft::make_chan<int>();
    weft::go([=] { mutex.send(1); });
    weft::go([=] {
      mutex.recv();
      x->v = 1;
      weft::go([=] { mutex.send(1); });
      done.send(1);
    });
    mutex.recv();
    x->v = 2;
    weft::go([=] { mutex.send(1); });
    done.recv();
    mutex.recv();
  });
}

TEST(race_chan, TestNoRaceChanPtr) {   // what a pointer points to travels with it
  often([] {
    auto c = weft::make_chan<int*>(1);
    auto back = weft::make_chan<std::unique_ptr<std::vector<int>>>();
    weft::go([=] { *(*c.recv()) = 2; back.send(std::make_unique<std::vector<int>>(3, 7)); });
    int v = 1;
    c.send(&v);
    EXPECT_EQ((**back.recv())[2], 7);
    EXPECT_EQ(v, 2);
  });
}

TEST(race_chan, TestNoRaceChanValuesOfNodes) {   // built by one goroutine, read and destroyed by another
  often([] {
    auto c = weft::make_chan<std::string>(2);
    weft::go([=] {
      for (int i = 0; i < 10; ++i) c.send(std::string(100, static_cast<char>('a' + i)));
      c.close();
    });
    char next = 'a';
    for (auto& s : c) EXPECT_EQ(s[99], next++);
  });
}

TEST(race_chan, TestNoRaceLeftOverValues) {   // destroyed by whoever drops the last handle
  often([] {
    auto c = weft::make_chan<std::string>(4);
    weft::go([c] { c.send(std::string(100, 'x')); });
    weft::go([c] { c.send(std::string(100, 'y')); });
  });
}

TEST(race_chan, TestNoRaceFullBufferHandsOn) {   // through a waiting sender, by way of the buffer
  often([] {
    auto a = fresh(), b = fresh();
    auto c = weft::make_chan<int>(1), done = weft::make_chan<int>();
    weft::go([=] {
      a->v = 1;
      c.send(1);
      b->v = 1;
      c.send(2);
      done.send(1);
    });
    c.recv();
    a->v = 2;
    c.recv();
    b->v = 2;
    done.recv();
  });
}

TEST(race_chan, TestNoRaceDeadlines) {
  often([] {
    auto x = fresh();
    auto c = weft::make_chan<int>(), d = weft::make_chan<int>();
    weft::go([=] {
      x->v = 1;
      static_cast<void>(c.send_for(1, std::chrono::hours(1)));
      d.recv_for(std::chrono::hours(1)).value();
      x->v = 3;
      d.close();
    });
    c.recv_for(std::chrono::hours(1)).value();
    x->v = 2;
    static_cast<void>(d.send_for(1, std::chrono::hours(1)));
    EXPECT_FALSE(d.recv());
    EXPECT_EQ(x->v, 3);
  });
}

// ---- select ----

TEST(race_select, TestNoRaceSelect1) {
  often([] {
    auto x = fresh();
    auto done = weft::make_chan<bool>(), c1 = weft::make_chan<bool>(), c2 = weft::make_chan<bool>();
    weft::go([=] {
      x->v = 1;
      weft::select(on_send(c1, true, nothing), on_send(c2, true, nothing));
      done.send(true);
    });
    weft::select(on_recv(c1, nothing), on_recv(c2, nothing));
    x->v = 2;
    done.recv();
  });
}

TEST(race_select, TestNoRaceSelect2) {   // both ways over one case
  often([] {
    auto x = fresh(), y = fresh();
    auto c = weft::make_chan<int>(), never = weft::make_chan<int>(), done = weft::make_chan<int>();
    weft::go([=] {
      x->v = 1;
      weft::select(on_recv(c, nothing), on_recv(never, nothing));
      y->v = 2;
      done.send(1);
    });
    y->v = 1;
    weft::select(on_send(never, 1, nothing), on_send(c, 1, nothing));
    x->v = 2;   // unbuffered: the receive happened before the send completed
    done.recv();
  });
}

TEST(race_select, TestNoRaceSelect3) {
  often([] {
    auto x = fresh();
    auto c = weft::make_chan<bool>(10), never = weft::make_chan<bool>();
    weft::go([=] { x->v = 1; c.send(true); });
    weft::select(on_recv(c, nothing), on_recv(never, nothing));
    x->v = 2;
  });
}

TEST(race_select, TestNoRaceSelect4) {   // with otherwise, polled
  often([] {
    auto x = fresh();
    auto c = weft::make_chan<bool>(1);
    weft::go([=] {
      x->v = 1;
      weft::select(on_send(c, true, nothing), otherwise([] { FAIL(); }));
    });
    while (weft::select(on_recv(c, nothing), otherwise(nothing)) == 1) weft::this_goroutine::yield();
    x->v = 2;
  });
}

TEST(race_select, TestNoRaceSelect5) {   // a mutex made of a select
  often([] {
    auto x = fresh();
    auto mutex = weft::make_chan<bool>(1), never = weft::make_chan<bool>(), done = weft::make_chan<bool>();
    for (int p = 0; p < 3; ++p)
      weft::go([=] {
        for (int i = 0; i < 5; ++i) {
          weft::select(on_send(mutex, true, nothing), on_recv(never, nothing));
          ++x->v;
          weft::select(on_recv(mutex, nothing), on_recv(never, nothing));
        }
        done.send(true);
      });
    for (int p = 0; p < 3; ++p) done.recv();
    EXPECT_EQ(x->v, 15);
  });
}

}  // namespace
