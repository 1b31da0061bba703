// run_queue_test.cpp — the ring and run_next, alone. Rows TestSchedLocalQueue, ...Steal, ...Empty and
// TestStealOrder of Go.
#include "sched/run_queue.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <set>
#include <thread>
#include <vector>

#include "base/random.hpp"
#include "sched/goroutine.hpp"

using namespace weft::rt;

namespace {

struct queues {
  std::unique_ptr<run_queue> mine = std::make_unique<run_queue>();
  std::unique_ptr<run_queue> other = std::make_unique<run_queue>();
  std::vector<goroutine> gs = std::vector<goroutine>(256);
};

}  // namespace

TEST(run_queue, TestSchedLocalQueue) {
  queues q;
  for (std::size_t n = 0; n < q.gs.size(); ++n) {
    ASSERT_TRUE(q.mine->empty());
    for (std::size_t i = 0; i < n; ++i) ASSERT_TRUE(q.mine->put(&q.gs[i]));
    ASSERT_EQ(q.mine->size(), n);
    for (std::size_t i = 0; i < n; ++i) ASSERT_EQ(q.mine->get().gp, &q.gs[i]);
    ASSERT_EQ(q.mine->get().gp, nullptr);
  }
}

TEST(run_queue, TestSchedLocalQueueSteal) {
  queues q;
  for (std::size_t n = 0; n < q.gs.size(); ++n) {
    std::multiset<goroutine*> seen;
    for (std::size_t i = 0; i < n; ++i) q.mine->put(&q.gs[i]);
    std::uint32_t stolen = 0;
    std::size_t moved = 0;
    if (goroutine* gp = q.mine->steal_half(*q.other, false, stolen)) {
      seen.insert(gp);
      ++moved;
    }
    while (goroutine* gp = q.other->get().gp) seen.insert(gp), ++moved;
    while (goroutine* gp = q.mine->get().gp) seen.insert(gp);
    ASSERT_TRUE(moved == n / 2 || moved == n / 2 + 1) << n;
    ASSERT_EQ(seen.size(), n);
    ASSERT_EQ(std::set<goroutine*>(seen.begin(), seen.end()).size(), n) << "one was taken twice";
  }
}

// empty() must not say so while the owner moves a goroutine from run_next to the ring.
TEST(run_queue, TestSchedLocalQueueEmpty) {
  queues q;
  std::atomic<int> turn{0};
  std::atomic<bool> wrong{false};
  constexpr int rounds = 3000;
  q.mine->put_next(&q.gs[0]);
  std::thread looker([&] {
    for (int i = 1; i <= rounds; ++i) {
      turn.store(i);
      for (int k = 0; k < 50; ++k)
        if (q.mine->empty()) wrong = true;
    }
    turn.store(-1);
  });
  for (int k = 0; turn.load() != -1; ++k) {
    // The new one goes to run_next, the old one to the ring; then the ring gives one up. Never empty.
    if (goroutine* old = q.mine->put_next(&q.gs[1 + k % 2])) q.mine->put(old);
    q.mine->get_from_ring();
  }
  looker.join();
  EXPECT_FALSE(wrong);
}

TEST(run_queue, SpillMovesTheOlderHalfAndTheNewOne) {
  queues q;
  goroutine extra;
  for (auto& g : q.gs) ASSERT_TRUE(q.mine->put(&g));
  ASSERT_FALSE(q.mine->put(&extra));
  goroutine* out[run_queue::spilled];
  ASSERT_TRUE(q.mine->spill(&extra, out));
  EXPECT_EQ(run_queue::spilled, 129u);
  EXPECT_EQ(out[0], &q.gs[0]);
  EXPECT_EQ(out[128], &extra);
  EXPECT_EQ(q.mine->size(), 128u);
  EXPECT_EQ(q.mine->get().gp, &q.gs[128]);
}

TEST(run_queue, RunNextKicksTheOldOneOutAndIsStolenLast) {
  queues q;
  EXPECT_EQ(q.mine->put_next(&q.gs[0]), nullptr);
  EXPECT_EQ(q.mine->put_next(&q.gs[1]), &q.gs[0]);
  std::uint32_t n = 0;
  EXPECT_EQ(q.mine->steal_half(*q.other, false, n), nullptr);
  EXPECT_EQ(q.mine->steal_half(*q.other, true, n), &q.gs[1]);
  EXPECT_TRUE(q.mine->empty());
}

// The owner puts and gets, three thieves steal: each goroutine is taken exactly once.
TEST(run_queue, OwnerAndThievesTakeEachOnce) {
  constexpr std::size_t count = 200'000;
  auto mine = std::make_unique<run_queue>();
  auto gs = std::make_unique<goroutine[]>(count);
  std::vector<std::atomic<int>> taken(count);
  std::atomic<bool> done{false};
  auto take = [&](goroutine* gp) { taken[static_cast<std::size_t>(gp - gs.get())].fetch_add(1); };
  std::vector<std::thread> thieves;
  for (int t = 0; t < 3; ++t)
    thieves.emplace_back([&] {
      auto own = std::make_unique<run_queue>();
      std::uint32_t n = 0;
      while (!done) {
        if (goroutine* gp = mine->steal_half(*own, true, n)) take(gp);
        while (goroutine* gp = own->get().gp) take(gp);
      }
    });
  for (std::size_t i = 0; i < count; ++i) {
    if (i % 3 == 0) {
      if (goroutine* old = mine->put_next(&gs[i]))
        while (!mine->put(old))
          if (goroutine* gp = mine->get().gp) take(gp);
    } else {
      while (!mine->put(&gs[i]))
        if (goroutine* gp = mine->get().gp) take(gp);
    }
    if (i % 2 == 0)
      if (goroutine* gp = mine->get().gp) take(gp);
  }
  while (goroutine* gp = mine->get().gp) take(gp);
  done = true;
  for (auto& t : thieves) t.join();
  while (goroutine* gp = mine->get().gp) take(gp);
  for (std::size_t i = 0; i < count; ++i) ASSERT_EQ(taken[i].load(), 1) << i;
}
