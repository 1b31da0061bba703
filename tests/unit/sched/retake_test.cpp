// retake_test.cpp — a goroutine blocked in foreign code does not keep its processor, announced or not.
//
// Each blocked call here ends only by what another goroutine does: without the hand-on the test hangs.
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <stdexcept>
#include <thread>
#include <vector>

#include "support/weft_test.hpp"
#include "weft/blocking.hpp"
#include "weft/chan.hpp"
#include "weft/go.hpp"
#include "weft/join_handle.hpp"
#include "weft/this_goroutine.hpp"
#include "weft/wait_group.hpp"

namespace {

using weft_test::for_each_procs;
using weft_test::scaled;

class pipe_pair {
 public:
  pipe_pair() {
    if (pipe(ends_) != 0) throw std::runtime_error("pipe");
  }
  ~pipe_pair() {
    close(ends_[0]);
    close(ends_[1]);
  }
  char get() const {
    char c = 0;
    EXPECT_EQ(read(ends_[0], &c, 1), 1);
    return c;
  }
  void put(char c) const { EXPECT_EQ(write(ends_[1], &c, 1), 1); }

 private:
  int ends_[2];
};

struct announced {
  template <class F>
  auto operator()(F f) const { return weft::blocking(f); }
};
struct unannounced {
  template <class F>
  auto operator()(F f) const { return f(); }
};

// Two goroutines that wake each other through two pipes.
template <class How>
void ping_pong(How how, int times) {
  pipe_pair there, back;
  weft::wait_group other;
  other.add(1);
  weft::go([&] {
    for (int i = 0; i < times; ++i) {
      EXPECT_EQ(how([&] { return there.get(); }), static_cast<char>(i));
      back.put(static_cast<char>(i));
    }
    other.done();
  });
  for (int i = 0; i < times; ++i) {
    there.put(static_cast<char>(i));
    EXPECT_EQ(how([&] { return back.get(); }), static_cast<char>(i));
  }
  other.wait();
}

}  // namespace

TEST(retake, ReadsOfPipes) {
  for_each_procs([] { ping_pong(unannounced{}, scaled(100, 20)); });
}

TEST(retake, ManyBlockedAtOnce) {
  for_each_procs([] {
    constexpr int readers = 40;
    pipe_pair pipe;
    weft::wait_group all;
    for (int i = 0; i < readers; ++i) {
      all.add(1);
      weft::go([&] {
        EXPECT_EQ(pipe.get(), 'x');
        all.done();
      });
    }
    weft::this_goroutine::yield();                   // behind all of them
    for (int i = 0; i < readers; ++i) pipe.put('x');
    all.wait();
  });
}

TEST(retake, StdMutexAndConditionVariable) {
  for_each_procs([] {
    std::mutex m;
    std::condition_variable changed;
    int turn = 0;
    weft::wait_group both;
    for (int me : {0, 1}) {
      both.add(1);
      weft::go([&, me] {
        for (int t = me; t < scaled(200, 40); t += 2) {
          std::unique_lock hold(m);
          changed.wait(hold, [&] { return turn == t; });
          ++turn;
          changed.notify_one();
        }
        both.done();
      });
    }
    both.wait();
  });
}

// Who comes back has a processor again, and can do all that needs one.
TEST(retake, GoesOnAfterwards) {
  for_each_procs([] {
    pipe_pair pipe;
    auto values = weft::make_chan<int>();
    weft::go([&, values] {
      for (int i = 0; i < scaled(50, 10); ++i) {
        pipe.get();
        weft::this_goroutine::yield();
        values.send(i);
      }
      values.close();
    });
    int n = 0;
    for (pipe.put('x'); values.recv(); pipe.put('x')) ++n;
    EXPECT_EQ(n, scaled(50, 10));
  });
}

// How often the other side answered in half a second.
int round_trips(pipe_pair& there, pipe_pair& back) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(500);
  int n = 0;
  for (; std::chrono::steady_clock::now() < end; ++n) {
    there.put('x');
    back.get();
    usleep(200);
  }
  there.put('.');
  return n;
}

void answer(pipe_pair& there, pipe_pair& back) {
  while (there.get() == 'x') back.put('x');
}

// One that blocks again and again for a short time, beside loops that keep the P: it is not interrupted when
// it is seen asleep, or it would wait for a turn of 10 ms each time. Compared with threads, on this machine.
TEST(retake, ShortCallsInARowNeedNoTurns) {
  pipe_pair there, back;
  std::atomic<bool> stop{false};
  const auto loop = [&] {
    while (!stop.load(std::memory_order_relaxed)) continue;
  };
  int with_threads = 0, trips = 0;
  {
    std::jthread busy(loop), answers([&] { answer(there, back); });
    with_threads = round_trips(there, back);
    stop = true;
  }
  stop = false;
  weft::run({.maxprocs = 1}, [&] {
    weft::wait_group all;
    for (int i = 0; i < 4; ++i) all.go(loop);
    all.go([&] { answer(there, back); });
    weft::spawn([&] {                                // on a thread that the runtime does not know
      std::jthread other([&] {
        trips = round_trips(there, back);
        stop = true;
      });
    }).join();
    all.wait();
  });
  EXPECT_GT(20 * trips, with_threads);
}

TEST(blocking, ReadsOfPipes) {
  for_each_procs([] { ping_pong(announced{}, scaled(1000, 100)); });
}

TEST(blocking, ReturnsAndThrowsWhatTheCallDoes) {
  weft::run({.maxprocs = 1}, [] {
    int x = 1;
    weft::blocking([&]() -> int& { return x; }) = 2;
    EXPECT_EQ(x, 2);
    EXPECT_THROW(weft::blocking([] { throw std::runtime_error("no"); }), std::runtime_error);
    EXPECT_EQ(weft::blocking([] { return weft::blocking([] { return 3; }); }), 3);
  });
  EXPECT_EQ(weft::blocking([] { return 4; }), 4);    // on a plain thread, without a world
}

TEST(blocking, KeepsItsThread) {
  for_each_procs([] {
    pipe_pair pipe;
    weft::go([&] { pipe.put('x'); });
    const auto before = std::this_thread::get_id();
    std::thread::id within;
    weft::blocking([&] {
      pipe.get();
      within = std::this_thread::get_id();
    });
    EXPECT_EQ(within, before);
    EXPECT_EQ(std::this_thread::get_id(), before);
  });
}

// Also where nobody waits for the processor, so that it is never handed on.
TEST(blocking, APlaceOfShortCallsBecomesShortAgain) {
  for_each_procs([] {
    weft::detail::call_site site;
    site.long_calls = 8;
    for (int i = 0; i < 100'000 && site.long_calls != 0; ++i) weft::detail::blocking_scope a_short_call(site);
    EXPECT_EQ(site.long_calls, 0);
  });
}

TEST(blocking, TheCallMayUseWeft) {
  for_each_procs([] {
    auto c = weft::make_chan<int>();
    for (int i = 0; i < scaled(300, 50); ++i) {
      weft::go([c, i] { c.send(i); });
      EXPECT_EQ(weft::blocking([&] { return c.recv(); }), i);
    }
  });
}
