// global_queue_test.cpp — the order of the queue, with threads that wait in it.
#include "sched/global_queue.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <memory>
#include <random>
#include <vector>

#include "sched/machine.hpp"

using namespace weft::rt;

namespace {

struct thread_waiting {
  goroutine g;
  machine m;
  thread_waiting() { m.current = &g, g.bound = &m; }
};

// As many as wanted and there, but a thread alone.
std::size_t batch_of(const std::deque<goroutine*>& model, std::size_t wanted) {
  const std::size_t most = std::min(wanted, model.size());
  if (most != 0 && model[0]->bound != nullptr) return 1;
  std::size_t n = 0;
  while (n < most && model[n]->bound == nullptr) ++n;
  return n;
}

}  // namespace

// Against a plain queue that knows nothing of threads.
TEST(global_queue, ThreadsKeepTheirPlace) {
  std::mt19937 dice(1);
  for (int round = 0; round < 200; ++round) {
    global_queue q;
    std::deque<goroutine*> model;
    std::vector<std::unique_ptr<goroutine>> plain;
    std::vector<std::unique_ptr<thread_waiting>> threads;
    for (int step = 0; step < 300; ++step) {
      switch (dice() % 5) {
        case 0:
          plain.push_back(std::make_unique<goroutine>());
          q.push_back(plain.back().get());
          model.push_back(plain.back().get());
          break;
        case 1:
          threads.push_back(std::make_unique<thread_waiting>());
          q.push_thread(&threads.back()->m);
          model.push_back(&threads.back()->g);
          break;
        case 2: {
          if (dice() % 4 != 0) break;
          goroutine* front[3];
          for (goroutine*& gp : front) {
            plain.push_back(std::make_unique<goroutine>());
            gp = plain.back().get();
          }
          q.push_front(front, 3);
          model.insert(model.begin(), front, front + 3);
          break;
        }
        case 3: {                                    // a certain one, which may have gone before
          if (threads.empty() || dice() % 2 != 0) break;
          thread_waiting& t = *threads[dice() % threads.size()];
          const auto there = std::find(model.begin(), model.end(), &t.g);
          ASSERT_EQ(q.remove_thread(&t.m), there != model.end());
          if (there != model.end()) model.erase(there);
          break;
        }
        default: {
          goroutine* got[8];
          const std::uint32_t wanted = dice() % 9;
          const std::uint32_t n = q.take(got, wanted);
          ASSERT_EQ(n, batch_of(model, wanted));
          for (std::uint32_t i = 0; i < n; ++i, model.pop_front()) ASSERT_EQ(got[i], model.front());
        }
      }
      ASSERT_EQ(q.size(), model.size());
    }
  }
}

TEST(global_queue, AThreadMayGoOutOfTurn) {
  global_queue q;
  goroutine a, b;
  thread_waiting first, second;
  q.push_back(&a);
  q.push_thread(&first.m);
  q.push_back(&b);
  q.push_thread(&second.m);
  EXPECT_EQ(q.threads(), 2u);
  EXPECT_EQ(q.take_thread(), &first.g);
  EXPECT_EQ(q.size(), 3u);
  goroutine* got[4];
  EXPECT_EQ(q.take(got, 4), 2u);
  EXPECT_EQ(got[0], &a);
  EXPECT_EQ(got[1], &b);
  EXPECT_EQ(q.take(got, 4), 1u);
  EXPECT_EQ(got[0], &second.g);
  EXPECT_EQ(q.take_thread(), nullptr);
}

TEST(global_queue, RatherAThreadThatStoodOnThisCpu) {
  global_queue q;
  thread_waiting all[8];
  for (int i = 0; i < 8; ++i) {
    all[i].m.cpu = i == 3 || i == 7 ? 0 : 1;
    q.push_thread(&all[i].m);
  }
  EXPECT_EQ(q.take_thread(), &all[0].g);             // any: in order
  EXPECT_EQ(q.take_thread(0), &all[3].g);
  EXPECT_EQ(q.take_thread(0), &all[1].g);            // the other one is in the second half
  EXPECT_EQ(q.take_thread(1), &all[2].g);
  EXPECT_EQ(q.take_thread(2), &all[4].g);            // none stood there
  EXPECT_EQ(q.take_thread(0), &all[5].g);
  EXPECT_EQ(q.threads(), 2u);
}

// The M there takes it. Others are taken instead, eight times; who comes again takes none.
TEST(global_queue, AThreadIsLeftToItsCpuForAWhile) {
  global_queue q;
  goroutine others[8];
  thread_waiting t;
  t.m.cpu = 1;
  q.push_thread(&t.m);
  goroutine* got[4];
  for (int i = 0; i < 4; ++i) {
    q.push_back(&others[i]);
    ASSERT_EQ(q.take(got, 4, 0), 1u);
    EXPECT_EQ(got[0], &others[i]);
  }
  for (int i = 0; i < 4; ++i) EXPECT_EQ(q.take(got, 1, 0, true), 0u);
  q.push_back(&others[4]);
  ASSERT_EQ(q.take(got, 4, 0), 1u);                  // the ninth time
  EXPECT_EQ(got[0], &t.g);
}

// Eight batches would be a thousand.
TEST(global_queue, NotManyGoBeforeAThread) {
  global_queue q;
  thread_waiting first, second;
  goroutine others[1000];
  goroutine* got[128];
  first.m.cpu = second.m.cpu = 1;
  q.push_thread(&first.m);
  q.push_thread(&second.m);
  for (auto& g : others) q.push_back(&g);
  for (int i = 0; i < 4; ++i) EXPECT_EQ(q.take(got, 128, 0), 128u);
  for (thread_waiting* t : {&first, &second}) {      // that have gone before both
    EXPECT_EQ(q.take(got, 128, 0), 1u);
    EXPECT_EQ(got[0], &t->g);
  }
}

TEST(global_queue, AThreadIsTakenWhereItStoodOrByWhoHasNothingElse) {
  for (const int cpu : {-1, 0, 1}) {                 // of the caller; negative: any
    global_queue q;
    goroutine other;
    thread_waiting t;
    t.m.cpu = 1;
    q.push_thread(&t.m);
    if (cpu != 0) q.push_back(&other);
    goroutine* got[4];
    ASSERT_EQ(q.take(got, 4, cpu), 1u);
    EXPECT_EQ(got[0], &t.g);
  }
}

// Who stops pushes itself, and then gives its P away: with few of them it must not be its own successor.
TEST(global_queue, TheLastOfTheThreadsIsNotTaken) {
  global_queue q;
  thread_waiting first, last;
  first.m.cpu = 1;
  last.m.cpu = 0;
  q.push_thread(&first.m);
  q.push_thread(&last.m);
  EXPECT_EQ(q.take_thread(0), &first.g);
}

// Else the first would starve where one P never leaves the others' CPU.
TEST(global_queue, TheFirstThreadIsPassedByEightTimes) {
  global_queue q;
  thread_waiting first, others[20];
  first.m.cpu = 1;
  q.push_thread(&first.m);
  for (auto& t : others) {
    t.m.cpu = 0;
    q.push_thread(&t.m);
  }
  for (int i = 0; i < 8; ++i) EXPECT_EQ(q.take_thread(0), &others[i].g);
  EXPECT_EQ(q.take_thread(0), &first.g);
  EXPECT_EQ(q.take_thread(0), &others[8].g);
  EXPECT_EQ(q.size(), 11u);
}

TEST(global_queue, OneOfTheThreadsMayBeTakenOut) {
  global_queue q;
  thread_waiting all[3];
  for (auto& t : all) q.push_thread(&t.m);
  const auto is_marked = [](machine* mp) noexcept { return mp->interrupted.load(); };
  EXPECT_EQ(q.take_thread_if(is_marked), nullptr);
  for (int i : {2, 1}) {                             // the last, then the last again
    all[i].m.interrupted = true;
    EXPECT_EQ(q.take_thread_if(is_marked), &all[i].m);
    EXPECT_EQ(q.size(), static_cast<std::uint32_t>(i));
  }
  q.push_thread(&all[1].m);
  EXPECT_EQ(q.take_thread(), &all[0].g);
  EXPECT_EQ(q.take_thread_if(is_marked), &all[1].m);
  EXPECT_EQ(q.take_thread(), nullptr);
  EXPECT_EQ(q.size(), 0u);
}
