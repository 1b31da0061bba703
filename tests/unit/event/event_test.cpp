// event_test.cpp — an observer behind the event port sees the whole life of every goroutine, in order.
#include "event/event.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <map>
#include <mutex>
#include <vector>

#include "weft/chan.hpp"
#include "weft/go.hpp"
#include "weft/this_goroutine.hpp"
#include "weft_test.hpp"

namespace {

using weft::rt::event;
using weft::rt::wait_reason;

// ---- the observer: inside the runtime, so nothing but atomics ----

struct entry {
  event what;
  std::uint8_t detail;
  std::uint64_t subject;
};
constexpr std::size_t capacity = 4096;
std::atomic<std::uint64_t> entries[capacity];   // subject << 16 | detail << 8 | what
std::atomic<std::size_t> used{0};
std::atomic<int> ends{0};

bool is_about_a_life(event what) {
  switch (what) {
    case event::goroutine_create:
    case event::goroutine_start:
    case event::goroutine_block:
    case event::goroutine_unblock:
    case event::goroutine_end: return true;
    default: return false;
  }
}

void record(event what, std::uint64_t subject, std::uint64_t detail) noexcept {
  if (!is_about_a_life(what)) return;
  const std::size_t at = used.fetch_add(1);
  if (at < capacity) entries[at] = subject << 16 | detail << 8 | static_cast<std::uint64_t>(what);
  if (what == event::goroutine_end) ++ends;
}

std::vector<entry> recorded() {
  std::vector<entry> all;
  for (std::size_t i = 0; i < used; ++i) {
    const std::uint64_t e = entries[i];
    all.push_back({static_cast<event>(e & 0xff), static_cast<std::uint8_t>(e >> 8), e >> 16});
  }
  return all;
}

// While one exists, the observer is installed.
struct observing {
  observing() {
    used = 0;
    ends = 0;
    weft::rt::installed_sink.store(record, weft::rt::release);
  }
  ~observing() { weft::rt::installed_sink.store(nullptr, weft::rt::release); }
};

// ---- what it saw of one goroutine ----

struct life {
  int created = 0, started = 0, ended = 0, blocked = 0, unblocked = 0;

  void add(const entry& e) {
    EXPECT_EQ(ended, 0) << "nothing comes after the end";
    switch (e.what) {
      case event::goroutine_create: ++created; break;
      case event::goroutine_start: EXPECT_EQ(created, 1); ++started; break;
      case event::goroutine_block: EXPECT_EQ(blocked++, unblocked); break;
      case event::goroutine_unblock: EXPECT_EQ(++unblocked, blocked); break;
      case event::goroutine_end: EXPECT_EQ(started, 1); ++ended; break;
      default: ADD_FAILURE();
    }
  }
};

void receive_in_goroutines(int n, std::vector<std::uint64_t>& ids) {
  auto c = weft::make_chan<int>();
  std::mutex guard;   // never held across a park
  for (int i = 0; i < n; ++i)
    weft::go([&, c] {
      {
        std::lock_guard hold(guard);
        ids.push_back(weft::this_goroutine::id());
      }
      c.recv();
    });
  for (int i = 0; i < n; ++i) c.send(i);
  while (ends < n) weft::this_goroutine::yield();   // a main goroutine that returned would cut them short
}

TEST(event, TheWholeLifeIsSeen) {
  constexpr int n = 50;
  for (int procs : {1, 4}) {
    std::vector<std::uint64_t> ids;
    {
      observing now;
      weft_test::with_procs(procs, [&] { receive_in_goroutines(n, ids); });
    }
    ASSERT_LE(used, capacity);
    std::map<std::uint64_t, life> lives;
    int waits = 0;
    for (const entry& e : recorded()) {
      lives[e.subject].add(e);
      const bool on_channel = e.detail == static_cast<std::uint8_t>(wait_reason::chan_receive) ||
                              e.detail == static_cast<std::uint8_t>(wait_reason::chan_send);
      waits += e.what == event::goroutine_block && on_channel;
    }
    ASSERT_EQ(ids.size(), static_cast<std::size_t>(n));
    for (std::uint64_t id : ids) {
      const life& l = lives[id];
      EXPECT_EQ(l.created, 1) << id;
      EXPECT_EQ(l.started, 1) << id;
      EXPECT_EQ(l.ended, 1) << id;
      EXPECT_EQ(l.blocked, l.unblocked) << id;
    }
    EXPECT_EQ(waits, n);   // at each meeting on an unbuffered channel one of the two was there first
  }
}

TEST(event, NothingIsSeenWithoutObserver) {
  { observing now; }
  weft_test::with_procs(2, [] {
    auto c = weft::make_chan<int>();
    weft::go([c] { c.send(1); });
    c.recv();
  });
  EXPECT_EQ(used, 0u);
}

}  // namespace
