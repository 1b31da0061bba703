// announcement_test.cpp — which call an M says it is in.
#include "sched/announcement.hpp"

#include <gtest/gtest.h>

using weft::rt::announcement_word;

TEST(announcement, GoesOnInItsStayOnly) {
  announcement_word w;
  EXPECT_FALSE(announcement_word::goes_on(w.look(), 0));
  w.begin(4);
  EXPECT_TRUE(announcement_word::goes_on(w.look(), 4));
  EXPECT_FALSE(announcement_word::goes_on(w.look(), 6));
  w.end();
  EXPECT_FALSE(announcement_word::goes_on(w.look(), 4));
}

TEST(announcement, EachCallIsAnother) {
  announcement_word w;
  for (int i = 0; i < 100'000; ++i) {
    const std::uint64_t before = w.look();
    w.begin(4);
    ASSERT_NE(w.look(), before);
    ASSERT_TRUE(announcement_word::goes_on(w.look(), 4)) << i;
    w.end();
    ASSERT_FALSE(announcement_word::goes_on(w.look(), 4)) << i;
  }
}

TEST(announcement, OneInsideAnotherEndsBoth) {
  announcement_word w;
  w.begin(4);
  const std::uint64_t outer = w.look();
  w.begin(4);
  EXPECT_TRUE(announcement_word::goes_on(w.look(), 4));
  EXPECT_NE(w.look(), outer);
  for (int i = 0; i < 2; ++i) {
    w.end();
    EXPECT_FALSE(announcement_word::goes_on(w.look(), 4));
  }
}

TEST(announcement, GatesOfAnyNumber) {
  announcement_word w;
  const std::uint64_t gate = ~std::uint64_t{0} - 1;
  w.begin(gate);
  EXPECT_TRUE(announcement_word::goes_on(w.look(), gate));
  EXPECT_FALSE(announcement_word::goes_on(w.look(), gate - 2));
}
