// intrusive_test.cpp — the lists keep their counts and their order under random use, against std::deque.
#include "base/intrusive.hpp"

#include <gtest/gtest.h>

#include <deque>
#include <vector>

#include "base/random.hpp"

namespace {

using namespace weft::rt;

struct element {
  element* next = nullptr;
};

TEST(intrusive, a_fifo_behaves_like_a_deque) {
  random_source random(11);
  std::vector<element> all(200);
  std::vector<element*> free;
  for (element& x : all) free.push_back(&x);
  fifo<element, &element::next> list;
  std::deque<element*> model;
  for (int step = 0; step < 100'000; ++step) {
    switch (random.below(5)) {
      case 0: case 1:
        if (!free.empty()) {
          element* x = free.back();
          free.pop_back();
          bool front = random.below(2);
          front ? list.push_front(x) : list.push_back(x);
          front ? model.push_front(x) : model.push_back(x);
        }
        break;
      case 2: case 3: {
        element* x = list.pop_front();
        ASSERT_EQ(x, model.empty() ? nullptr : model.front());
        if (x) model.pop_front(), free.push_back(x);
        break;
      }
      default: {   // a few elements move at once
        fifo<element, &element::next> more;
        std::deque<element*> more_model;
        for (std::uint32_t n = random.below(4); n > 0 && !free.empty(); --n) {
          more.push_back(free.back());
          more_model.push_back(free.back());
          free.pop_back();
        }
        bool before = random.below(2);
        if (before) {
          list.prepend(static_cast<decltype(more)&&>(more));
          model.insert(model.begin(), more_model.begin(), more_model.end());
        } else {
          list.append(static_cast<decltype(more)&&>(more));
          model.insert(model.end(), more_model.begin(), more_model.end());
        }
        ASSERT_TRUE(more.empty());
      }
    }
    ASSERT_EQ(list.size(), model.size());
    ASSERT_EQ(list.front(), model.empty() ? nullptr : model.front());
  }
}

TEST(intrusive, a_stack_returns_the_last_first) {
  element e[3];
  stack_list<element, &element::next> s;
  s.push(&e[0]);
  s.push(&e[1]);
  EXPECT_EQ(s.pop(), &e[1]);
  s.push(&e[2]);
  EXPECT_EQ(s.size(), 2u);
  EXPECT_EQ(s.pop(), &e[2]);
  EXPECT_EQ(s.pop(), &e[0]);
  EXPECT_EQ(s.pop(), nullptr);
  EXPECT_TRUE(s.empty());
}

TEST(intrusive, a_stack_gives_up_its_lower_ones) {
  element e[6], *below[6];
  stack_list<element, &element::next> s;
  for (element& x : e) s.push(&x);
  s.take_below(2, below, 3);                         // of 5 4 3 2 1 0
  EXPECT_EQ(below[0], &e[3]);
  EXPECT_EQ(below[2], &e[1]);
  s.take_below(3, below, 0);
  EXPECT_EQ(s.size(), 3u);
  for (int left : {5, 4, 0}) EXPECT_EQ(s.pop(), &e[left]);
  s.push(&e[0]);
  s.take_below(0, below, 1);
  EXPECT_EQ(below[0], &e[0]);
  EXPECT_EQ(s.pop(), nullptr);
  EXPECT_TRUE(s.empty());
}

}  // namespace
