// timer_heap_test.cpp — order, zombies, and that an arming fires exactly once or not at all.
#include "timeheap/timer_heap.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <memory>
#include <thread>
#include <vector>

#include "base/random.hpp"
#include "os/linux/pause.hpp"

// The heap only passes it on.
class weft::rt::ready_batch {
 public:
  std::vector<timer_node*> fired;
};

namespace {

using namespace weft::rt;
using std::int64_t;

struct fixture : testing::Test {
  ready_batch batch;
  timer_heap heap;
  ~fixture() override { heap.clear(); }
  std::size_t run(int64_t now) {
    batch.fired.clear();
    heap.run_due(now, batch);
    return batch.fired.size();
  }
};
using timer_heap_test = fixture;

int64_t collect(timer_node& node, int64_t, ready_batch& out) noexcept {
  out.fired.push_back(&node);
  return timer_node::disarmed;
}

struct node : timer_node {
  node() { fire = collect; }
};

// Something whose memory stays readable until the process ends, as a timer node's must (I2).
template <class T, class... Args>
T& lasting(Args... args) {
  static std::vector<std::shared_ptr<void>> all;
  auto made = std::make_shared<T>(args...);
  all.push_back(made);
  return *made;
}

TEST_F(timer_heap_test, looks_at_so_many_and_leaves_the_later_ones) {
  constexpr int count = 100;
  auto& nodes = lasting<std::vector<node>>(count);
  for (int i = 0; i < count; ++i) heap.arm(nodes[static_cast<std::size_t>(i)], (i * 37) % count);
  std::size_t fired = 0;
  for (std::uint32_t most : {1u, 31u, 32u, 33u}) {
    batch.fired.clear();
    const int64_t next = heap.run_due(1000, batch, most);
    EXPECT_EQ(batch.fired.size(), most);
    fired += most;
    EXPECT_EQ(next, static_cast<int64_t>(fired));
    EXPECT_EQ(heap.live(), count - fired);
  }
  EXPECT_EQ(run(1000), 3u);
}

TEST_F(timer_heap_test, fires_in_order_and_only_what_is_due) {
  constexpr int count = 5000;
  auto& nodes = lasting<std::vector<node>>(count);
  std::vector<int64_t> when(count);
  random_source random(7);
  for (int i = 0; i < count; ++i) heap.arm(nodes[i], when[i] = random.below(10'000));
  EXPECT_EQ(heap.size(), static_cast<unsigned>(count));
  EXPECT_EQ(heap.live(), static_cast<unsigned>(count));
  int64_t last = 0;
  std::size_t total = 0;
  for (int64_t now = 0; now < 10'500; now += 500) {
    total += run(now);
    for (timer_node* n : batch.fired) {
      int64_t w = when[static_cast<node*>(n) - nodes.data()];
      EXPECT_LE(last, w);
      EXPECT_LE(w, now);
      last = w;
    }
    EXPECT_GT(heap.earliest(), now);
  }
  EXPECT_EQ(total, static_cast<std::size_t>(count));
  EXPECT_EQ(heap.live(), 0u);
  EXPECT_EQ(heap.earliest(), os::forever);
  EXPECT_TRUE(std::none_of(nodes.begin(), nodes.end(), [](node& n) { return n.is_armed(); }));
}

TEST_F(timer_heap_test, arm_says_whether_it_is_the_earliest) {
  auto &a = lasting<node>(), &b = lasting<node>(), &c = lasting<node>();
  EXPECT_TRUE(heap.arm(a, 100));
  EXPECT_FALSE(heap.arm(b, 200));
  EXPECT_TRUE(heap.arm(c, 50));
  EXPECT_EQ(heap.earliest(), 50);
  EXPECT_TRUE(heap.arm(b, 10));
  EXPECT_EQ(b.when(), 10);
  EXPECT_TRUE(heap.arm(b, -5));   // the past is 0
  EXPECT_EQ(b.when(), 0);
}

TEST_F(timer_heap_test, disarmed_does_not_fire) {
  auto &a = lasting<node>(), &b = lasting<node>();
  heap.arm(a, 100);
  heap.arm(b, 200);
  EXPECT_TRUE(a.disarm());
  EXPECT_FALSE(a.disarm());
  EXPECT_EQ(heap.live(), 1u);
  EXPECT_EQ(heap.size(), 2u);
  EXPECT_EQ(run(50), 0u);
  EXPECT_EQ(heap.earliest(), 200) << "nobody is woken for a zombie";
  EXPECT_EQ(run(500), 1u);
  EXPECT_EQ(batch.fired[0], &b);
  EXPECT_FALSE(b.disarm());
  b.sync_with_fire();
}

TEST_F(timer_heap_test, armed_again_later_or_earlier_fires_once_at_the_new_instant) {
  auto& a = lasting<node>();
  heap.arm(a, 100);
  heap.arm(a, 300);
  EXPECT_EQ(heap.live(), 1u);
  EXPECT_EQ(run(200), 0u);
  EXPECT_EQ(run(300), 1u);
  EXPECT_EQ(run(1000), 0u);
  heap.arm(a, 5000);
  heap.arm(a, 2000);
  EXPECT_EQ(run(2000), 1u);
  EXPECT_EQ(run(9000), 0u);
  heap.arm(a, 100);
  heap.arm(a, 200);
  heap.arm(a, 100);   // the first entry looks like this one, but has another turn
  EXPECT_EQ(run(150), 1u);
  EXPECT_EQ(run(1000), 0u);
}

TEST_F(timer_heap_test, zombies_are_bounded) {
  constexpr unsigned kept = 1000;
  auto& nodes = lasting<std::vector<node>>(kept);
  for (unsigned i = 0; i < kept; ++i) heap.arm(nodes[i], 1'000'000 + i);
  auto& churned = lasting<node>();
  for (int i = 0; i < 100'000; ++i) {
    heap.arm(churned, 500'000 + i);
    EXPECT_TRUE(churned.disarm());
    ASSERT_LE(heap.size() - heap.live(), std::max(64u, heap.size() / 4) + 1);
  }
  EXPECT_EQ(heap.live(), kept);
  EXPECT_EQ(run(2'000'000), kept);
}

TEST_F(timer_heap_test, one_deadline_again_and_again_leaves_no_heap_of_entries) {
  auto& a = lasting<node>();
  timer_heap other;
  for (int i = 0; i < 100'000; ++i) {   // as a wait_until in a loop does, on two processors in turn
    (i % 2 ? other : heap).arm(a, 1000);
    ASSERT_LE(heap.size() + other.size(), 200u);
    ASSERT_EQ(heap.live() + other.live(), 1u);
  }
  EXPECT_EQ(run(1000), 0u);   // it is on `other`
  other.run_due(1000, batch);
  EXPECT_EQ(batch.fired.size(), 1u);
  other.clear();
}

TEST_F(timer_heap_test, a_node_may_move_between_heaps) {
  auto& a = lasting<node>();
  timer_heap other;
  heap.arm(a, 100);
  other.arm(a, 200);
  EXPECT_EQ(heap.live(), 0u);
  EXPECT_EQ(other.live(), 1u);
  EXPECT_EQ(run(1000), 0u);
  other.run_due(1000, batch);
  EXPECT_EQ(batch.fired.size(), 1u);
  other.clear();
}

struct ticker : timer_node {
  int64_t period;
  int ticks = 0;
  explicit ticker(int64_t p) : period(p) {
    fire = [](timer_node& n, int64_t now, ready_batch&) noexcept {
      auto& self = static_cast<ticker&>(n);
      ++self.ticks;
      return now + self.period;
    };
  }
};

TEST_F(timer_heap_test, a_ticker_arms_itself) {
  auto &t = lasting<ticker>(10), &eager = lasting<ticker>(0);
  heap.arm(t, 10);
  for (int64_t now = 0; now <= 1000; ++now) run(now);
  EXPECT_EQ(t.ticks, 100);
  EXPECT_EQ(heap.size(), 1u);
  EXPECT_TRUE(t.disarm());
  EXPECT_EQ(run(5000), 0u);
  EXPECT_EQ(t.ticks, 100);
  heap.arm(eager, 0);
  run(6000);   // "due again at once" must not loop
  EXPECT_EQ(eager.ticks, 1);
}

TEST_F(timer_heap_test, absorb_takes_all_and_clear_forgets_all) {
  timer_heap other;
  auto& nodes = lasting<std::vector<node>>(3000);
  for (int i = 0; i < 3000; ++i) (i % 2 ? heap : other).arm(nodes[i], i);
  for (int i = 0; i < 3000; i += 10) nodes[i].disarm();
  heap.absorb(other);
  EXPECT_EQ(other.size(), 0u);
  EXPECT_EQ(other.live(), 0u);
  EXPECT_EQ(other.earliest(), os::forever);
  EXPECT_EQ(heap.live(), 2700u);
  EXPECT_EQ(heap.earliest(), 1);
  EXPECT_EQ(run(1499), 1350u);
  EXPECT_TRUE(nodes[2999].disarm());
  heap.clear();
  EXPECT_EQ(heap.live(), 0u);
  EXPECT_EQ(heap.size(), 0u);
  EXPECT_TRUE(std::none_of(nodes.begin(), nodes.end(), [](node& n) { return n.is_armed(); }));
  EXPECT_EQ(run(10'000), 0u);
  heap.arm(nodes[0], 5);   // usable afterwards
  EXPECT_EQ(run(5), 1u);
}

TEST_F(timer_heap_test, a_million_entries) {
  constexpr unsigned count = 1'000'000;
  auto& nodes = lasting<std::vector<node>>(count);
  random_source random(3);
  for (unsigned i = 0; i < count; ++i) heap.arm(nodes[i], random.below(1'000'000'000));
  EXPECT_EQ(heap.live(), count);
  EXPECT_EQ(run(1'000'000'000), count);
  EXPECT_EQ(heap.size(), 0u);
}

// Owners disarm while the heap fires: every arming ends exactly one way, and what a claimed fire did is seen
// after sync_with_fire().
TEST_F(timer_heap_test, disarm_and_fire_race_exactly_once) {
  struct racer : timer_node {
    atomic<int> fires{0};
    racer() {
      fire = [](timer_node& n, int64_t, ready_batch&) noexcept {
        os::cpu_pause(20);   // long enough to be met under way
        static_cast<racer&>(n).fires.fetch_add(1, relaxed);
        return timer_node::disarmed;
      };
    }
  };
  constexpr int rounds = 20'000;
  timer_heap other;
  auto& nodes = lasting<std::array<racer, 2>>();
  atomic<int64_t> now{0};
  atomic<int> running{2};
  long lost[2] = {};
  auto own = [&](int id) {
    racer& n = nodes[id];
    random_source random(id + 1);
    int expected = 0;
    for (int i = 0; i < rounds; ++i) {
      // Few different instants and two heaps, so that old entries often name the instant of a later arming.
      (random.below(2) ? heap : other).arm(n, now.load(relaxed) + random.below(3));
      for (int spin = static_cast<int>(random.below(200)); spin > 0; --spin) (void)n.is_armed();
      while (i % 8 == 0 && n.is_armed()) std::this_thread::yield();   // so that the others get a turn
      if (!n.disarm()) {
        n.sync_with_fire();
        ++expected;
      }
      if (n.fires.load(relaxed) != expected) ++lost[id];
      expected = n.fires.load(relaxed);
    }
    running.fetch_sub(1);
  };
  std::thread owners[2] = {std::thread(own, 0), std::thread(own, 1)};
  std::thread second([&] {
    ready_batch mine;
    while (running.load() > 0) {
      other.run_due(now.load(relaxed), mine);
      std::this_thread::yield();
    }
  });
  while (running.load() > 0) {
    now.fetch_add(1, relaxed);
    heap.run_due(now.load(relaxed), batch);
    std::this_thread::yield();
  }
  second.join();
  for (auto& t : owners) t.join();
  EXPECT_EQ(lost[0], 0);
  EXPECT_EQ(lost[1], 0);
  EXPECT_EQ(heap.live() + other.live(), 0u);
  EXPECT_GT(nodes[0].fires.load(), 0);
  EXPECT_LT(nodes[0].fires.load(), rounds);
  other.clear();
}

// A ticker stopped from another thread while it fires and arms itself.
TEST_F(timer_heap_test, a_ticker_stops_for_good) {
  struct racing_ticker : timer_node {
    atomic<int> fires{0};
    racing_ticker() {
      fire = [](timer_node& n, int64_t now, ready_batch&) noexcept {
        static_cast<racing_ticker&>(n).fires.fetch_add(1, relaxed);
        return now + 1;
      };
    }
  };
  auto& t = lasting<racing_ticker>();
  atomic<bool> done{false};
  std::thread owner([&] {
    for (int i = 0; i < 5'000; ++i) {
      int before = t.fires.load(relaxed);
      heap.arm(t, 0);
      while (i % 4 == 0 && t.fires.load(relaxed) == before) std::this_thread::yield();
      while (!t.disarm()) t.sync_with_fire();
      int fires = t.fires.load(relaxed);
      for (int spin = 0; spin < 50; ++spin) (void)heap.earliest();
      ASSERT_EQ(t.fires.load(relaxed), fires);
    }
    done.store(true);
  });
  for (int64_t now = 0; !done.load(); ++now) {
    heap.run_due(now, batch);
    std::this_thread::yield();
  }
  owner.join();
  EXPECT_EQ(heap.live(), 0u);
}

}  // namespace
