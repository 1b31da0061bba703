// late_slice_test.cpp — a late timer ends the slice that has kept it waiting, not one that has just begun.
#include <gtest/gtest.h>

#include <memory>

#include "os/os.hpp"
#include "sched/inside.hpp"
#include "sched/preempt.hpp"
#include "support/weft_test.hpp"

namespace weft::rt {
namespace {

constexpr std::int64_t ms = 1'000'000;

// A processor that only sysmon asks about, with a timer that is due since `late` ns. In a world of one
// processor, which is busy with the test.
template <class F>
void with_late_timer(std::int64_t late, F&& f) {
  weft_test::with_procs(1, [&] {
    const auto pp = std::make_unique<processor>();
    timer_node timer;
    const inside in;
    const std::int64_t now = os::nanotime();
    pp->timers.arm(timer, now - late);
    ++pp->schedtick;                                 // a slice that sysmon has not seen yet
    f(*pp, now);
    timer.disarm();
    pp->timers.clear();
  });
}

bool is_asked(const processor& p) { return (p.attention.load() & attend_slice) != 0; }

TEST(late_slice, MustHaveLasted) {
  with_late_timer(100 * ms, [](processor& p, std::int64_t now) {
    preempt(&p, now, progress::calls);
    EXPECT_FALSE(is_asked(p)) << "the first look: it may just have begun";
    preempt(&p, now + late_timer - 1, progress::calls);
    EXPECT_FALSE(is_asked(p));
    preempt(&p, now + late_timer, progress::calls);
    EXPECT_TRUE(is_asked(p)) << "now it is the one that keeps the timer waiting";
  });
}

TEST(late_slice, IsSparedIfAnotherHasBegun) {
  with_late_timer(100 * ms, [](processor& p, std::int64_t now) {
    preempt(&p, now, progress::calls);
    ++p.schedtick;
    preempt(&p, now + late_timer, progress::calls);
    EXPECT_FALSE(is_asked(p)) << "another slice than at the last look";
  });
}

TEST(late_slice, TheRequestEndsWithTheSlice) {
  with_late_timer(100 * ms, [](processor& p, std::int64_t now) {
    preempt(&p, now, progress::calls);
    preempt(&p, now + late_timer, progress::calls);
    ASSERT_TRUE(is_asked(p));
    p.attention.fetch_or(attend_stop, relaxed);
    begin_slice(&p);
    EXPECT_FALSE(is_asked(p));
    EXPECT_EQ(p.attention.load(), attend_stop) << "the other requests stay";
  });
}

TEST(late_slice, OfAComputationEndsAtOnce) {
  with_late_timer(0, [](processor& p, std::int64_t now) {
    preempt(&p, now, progress::none);
    EXPECT_TRUE(is_asked(p));
  });
}

}  // namespace
}  // namespace weft::rt
