// idle_test.cpp — which of the idle processors is the next to get a thread.
#include "sched/sched.hpp"
#include "support/weft_test.hpp"
#include "weft/go.hpp"
#include "weft/wait_group.hpp"

namespace rt = weft::rt;

// As when threads are short: a P is put aside with work in its queue, others after it. It comes first, the
// others in the order of their being warm. Under the lock nobody else has a P of ours.
TEST(idle, ProcessorsWithWorkComeFirst) {
  weft_test::with_procs(4, [] {
    const weft::wait_group done;
    done.go([] {});
    {
      rt::inside in;
      rt::processor *own = in->pp, *ps[3];
      const rt::run_queue::taken work = own->queue.get();
      rt::locked hold(rt::sched.lock);
      int n = 0;
      while (rt::processor* pp = n < 3 ? rt::idle_get_p() : nullptr) ps[n++] = pp;
      if (work.gp != nullptr && n >= 2) {            // else others were quicker
        rt::put_local(ps[0], work.gp);
        for (int i = 0; i < n; ++i) rt::idle_put_p(ps[i]);
        for (int i = 0, next = 0; i < n; ++i, next = n - i) EXPECT_EQ(rt::idle_get_p(), ps[next]);
        EXPECT_EQ(ps[0]->queue.get().gp, work.gp);
      }
      while (n > 0) rt::idle_put_p(ps[--n]);
      if (work.gp != nullptr) rt::put_local(own, work.gp);
    }
    done.wait();
  });
}
