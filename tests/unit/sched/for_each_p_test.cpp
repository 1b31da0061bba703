// for_each_p_test.cpp — a function once on each P: idle ones, Ps in user code, Ps that switch or cross all
// the time.
#include <atomic>

#include "sched/sched.hpp"
#include "support/weft_test.hpp"
#include "weft/chan.hpp"
#include "weft/go.hpp"
#include "weft/this_goroutine.hpp"
#include "weft/wait_group.hpp"

using namespace weft::rt;

namespace {

std::atomic<int> visits[8];

void visit(processor* pp) { visits[pp->id].fetch_add(1); }

void visit_all() {
  for (auto& v : visits) v = 0;
  post_to_helper([](void*) { for_each_p(visit); }, nullptr);
}

void expect_each_once(int procs) {
  for (int i = 0; i < procs; ++i) ASSERT_EQ(visits[i], 1) << "P" << i << " of " << procs;
}

}  // namespace

TEST(for_each_p, ReachesIdleOnes) {
  weft_test::for_each_procs([](int procs) {
    for (int round = 0; round < 100; ++round) {
      visit_all();
      expect_each_once(procs);
    }
  });
}

TEST(for_each_p, ReachesBusyOnes) {
  weft_test::for_each_procs([](int procs) {
    std::atomic<bool> stop{false};
    weft::wait_group all;
    auto start = [&](auto body) {
      all.add(1);
      weft::go([&stop, &all, body] {
        while (!stop) body();
        all.done();
      });
    };
    if (procs > 1) start([] {});                                   // never crosses
    start([] { weft::this_goroutine::yield(); });
    start([c = weft::make_chan<int>(1)] {                          // crosses, never parks
      (void)c.try_send(1);
      (void)c.try_recv();
    });
    for (int round = 0; round < 50; ++round) {
      visit_all();
      expect_each_once(procs);
    }
    stop = true;
    all.wait();
  });
}
