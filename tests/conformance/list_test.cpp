// list_test.cpp — Go's runtime/list_test.go and list_manual_test.go for our intrusive lists.
//
// Go's lists are doubly linked and remove anywhere; ours are singly linked and remove at the head only,
// because nothing in the runtime needs more. "Middle" and "tail" are therefore reached by taking out and
// putting back. The three Go variants (embedded link, link by offset, not-in-heap) are one here: a link that
// is named by member pointer. TestList* is fifo, TestListManual* stack_list, TestListNIH* the moving of whole
// lists.
#include <gtest/gtest.h>

#include <vector>

#include "base/intrusive.hpp"

namespace {

using namespace weft::rt;

struct element {
  int id = 0;
  element* next = nullptr;
  element* other_next = nullptr;   // a second link: an element may be in two lists
};
using queue = fifo<element, &element::next>;
using pile = stack_list<element, &element::next>;

struct list : testing::Test {
  static constexpr int count = 10;
  element e[count];
  list() {
    for (int i = 0; i < count; ++i) e[i].id = i;
  }
  template <class List>
  static std::vector<int> drain(List& l) {
    std::vector<int> ids;
    if constexpr (requires { l.pop_front(); })
      while (element* x = l.pop_front()) ids.push_back(x->id);
    else
      while (element* x = l.pop()) ids.push_back(x->id);
    EXPECT_TRUE(l.empty());
    EXPECT_EQ(l.size(), 0u);
    return ids;
  }
  template <class List>
  static void without(List& l, int id) {   // removal anywhere, in terms of the head
    List kept;
    if constexpr (requires { l.pop_front(); }) {
      while (element* x = l.pop_front())
        if (x->id != id) kept.push_back(x);
      l = kept;
    } else {
      while (element* x = l.pop())
        if (x->id != id) kept.push(x);
      while (element* x = kept.pop()) l.push(x);
    }
  }
};

TEST_F(list, TestListPush) {
  queue q;
  EXPECT_TRUE(q.empty());
  EXPECT_EQ(q.front(), nullptr);
  EXPECT_EQ(q.pop_front(), nullptr);
  for (int i = 5; i < count; ++i) q.push_back(&e[i]);
  for (int i = 4; i >= 0; --i) q.push_front(&e[i]);
  EXPECT_EQ(q.size(), 10u);
  EXPECT_EQ(q.front(), &e[0]);
  EXPECT_EQ(drain(q), (std::vector{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}));
}

TEST_F(list, TestListRemoveHead) {
  queue q;
  for (element& x : e) q.push_back(&x);
  for (int i = 0; i < count; ++i) {
    EXPECT_EQ(q.front(), &e[i]);
    EXPECT_EQ(q.pop_front(), &e[i]);
    EXPECT_EQ(q.size(), static_cast<std::size_t>(count - 1 - i));
  }
  q.push_back(&e[3]);   // an emptied list has forgotten its tail
  q.push_back(&e[4]);
  EXPECT_EQ(drain(q), (std::vector{3, 4}));
}

TEST_F(list, TestListRemoveMiddle) {
  queue q;
  for (int i = 0; i < 3; ++i) q.push_back(&e[i]);
  without(q, 1);
  EXPECT_EQ(q.size(), 2u);
  q.push_front(&e[1]);
  EXPECT_EQ(drain(q), (std::vector{1, 0, 2}));
}

TEST_F(list, TestListRemoveTail) {
  queue q;
  for (int i = 0; i < 3; ++i) q.push_back(&e[i]);
  without(q, 2);
  q.push_back(&e[2]);
  q.push_back(&e[3]);
  EXPECT_EQ(drain(q), (std::vector{0, 1, 2, 3}));
}

TEST_F(list, TestListRemoveAll) {
  queue q;
  for (element& x : e) q.push_back(&x);
  for (int id : {5, 0, 9, 1, 8, 2, 7, 3, 6, 4}) without(q, id);
  EXPECT_TRUE(q.empty());
  q.push_back(&e[0]);
  EXPECT_EQ(drain(q), (std::vector{0}));
}

TEST_F(list, TestListManualPush) {
  pile p;
  EXPECT_EQ(p.pop(), nullptr);
  for (element& x : e) p.push(&x);
  EXPECT_EQ(p.size(), 10u);
  EXPECT_EQ(drain(p), (std::vector{9, 8, 7, 6, 5, 4, 3, 2, 1, 0}));
}

TEST_F(list, TestListManualRemoveHead) {
  pile p;
  for (element& x : e) p.push(&x);
  for (int i = count - 1; i >= 0; --i) EXPECT_EQ(p.pop(), &e[i]);
  EXPECT_TRUE(p.empty());
}

TEST_F(list, TestListManualRemoveMiddle) {
  pile p;
  for (int i = 0; i < 3; ++i) p.push(&e[i]);
  without(p, 1);
  EXPECT_EQ(drain(p), (std::vector{2, 0}));
}

TEST_F(list, TestListManualRemoveTail) {
  pile p;
  for (int i = 0; i < 3; ++i) p.push(&e[i]);
  without(p, 0);
  p.push(&e[5]);
  EXPECT_EQ(drain(p), (std::vector{5, 2, 1}));
}

TEST_F(list, TestListManualRemoveAll) {
  pile p;
  for (element& x : e) p.push(&x);
  for (int id : {5, 0, 9, 1, 8, 2, 7, 3, 6, 4}) without(p, id);
  EXPECT_TRUE(p.empty());
  EXPECT_EQ(p.size(), 0u);
}

TEST_F(list, TestListNIHPush) {   // two links: one element in two lists at once
  queue q;
  fifo<element, &element::other_next> reversed;
  for (element& x : e) q.push_back(&x), reversed.push_front(&x);
  EXPECT_EQ(drain(q), (std::vector{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}));
  EXPECT_EQ(drain(reversed), (std::vector{9, 8, 7, 6, 5, 4, 3, 2, 1, 0}));
}

TEST_F(list, TestListNIHRemoveHead) {   // append and prepend empty their argument
  queue a, b, none;
  a.push_back(&e[0]);
  b.push_back(&e[1]);
  b.push_back(&e[2]);
  a.append(static_cast<queue&&>(b));
  EXPECT_TRUE(b.empty());
  a.append(static_cast<queue&&>(none));
  EXPECT_EQ(a.size(), 3u);
  EXPECT_EQ(a.pop_front(), &e[0]);
  EXPECT_EQ(drain(a), (std::vector{1, 2}));
}

TEST_F(list, TestListNIHRemoveMiddle) {
  queue a, b;
  a.push_back(&e[3]);
  b.push_back(&e[1]);
  b.push_back(&e[2]);
  a.prepend(static_cast<queue&&>(b));
  EXPECT_TRUE(b.empty());
  without(a, 2);
  EXPECT_EQ(drain(a), (std::vector{1, 3}));
}

TEST_F(list, TestListNIHRemoveTail) {   // the tail is right after each kind of move
  queue a, b, c;
  a.append(static_cast<queue&&>(b));
  a.prepend(static_cast<queue&&>(b));
  EXPECT_TRUE(a.empty());
  b.push_back(&e[0]);
  a.append(static_cast<queue&&>(b));
  a.push_back(&e[1]);
  c.push_back(&e[2]);
  a.append(static_cast<queue&&>(c));
  a.push_back(&e[3]);
  b.push_back(&e[4]);
  a.prepend(static_cast<queue&&>(b));
  a.push_back(&e[5]);
  EXPECT_EQ(drain(a), (std::vector{4, 0, 1, 2, 3, 5}));
}

TEST_F(list, TestListNIHRemoveAll) {
  queue a, b;
  for (int i = 0; i < count; ++i) (i % 2 ? a : b).push_back(&e[i]);
  a.append(static_cast<queue&&>(b));
  EXPECT_EQ(drain(a), (std::vector{1, 3, 5, 7, 9, 0, 2, 4, 6, 8}));
  EXPECT_TRUE(b.empty());
  b.push_back(&e[0]);
  EXPECT_EQ(drain(b), (std::vector{0}));
}

}  // namespace
