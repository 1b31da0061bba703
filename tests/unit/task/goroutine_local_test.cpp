// goroutine_local_test.cpp — one value a goroutine: made at first access, kept across threads, gone before
// the join.
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "weft/go.hpp"
#include "weft/goroutine_local.hpp"
#include "weft/join_handle.hpp"
#include "weft/runtime.hpp"
#include "weft_test.hpp"

namespace {

using weft::goroutine_local;
using weft::spawn;
using weft::this_goroutine::yield;
using weft_test::for_each_procs;
using weft_test::scaled;
using weft_test::with_procs;

constinit goroutine_local<int> number;
goroutine_local<std::string> name([] { return std::string("unnamed"); });

TEST(goroutine_local, each_has_its_own) {
  for_each_procs([] {
    *number = -1;
    std::vector<weft::join_handle<void>> hs;
    for (int g = 0; g < 50; ++g)
      hs.push_back(spawn([g] {
        EXPECT_EQ(*number, 0);
        EXPECT_EQ(*name, "unnamed");
        *name = std::to_string(g);
        int* const mine = &*number;
        for (int i = 0; i < scaled(200, 10); ++i) {
          ++*number;
          yield();                         // perhaps on another thread now
          ASSERT_EQ(&*number, mine);
        }
        EXPECT_EQ(*number, scaled(200, 10));
        EXPECT_EQ(*name, std::to_string(g));
      }));
    for (auto& h : hs) h.join();
    EXPECT_EQ(*number, -1);
  });
}

TEST(goroutine_local, peek_makes_nothing) {
  with_procs(1, [] {
    goroutine_local<int> x;
    EXPECT_EQ(x.peek(), nullptr);
    *x = 3;
    ASSERT_NE(x.peek(), nullptr);
    EXPECT_EQ(*x.peek(), 3);
  });
}

struct counted {
  static inline std::atomic<int> made{0}, gone{0};
  counted() { ++made; }
  ~counted() { ++gone; }
};

TEST(goroutine_local, ends_before_the_join) {
  for_each_procs([] {
    counted::made = counted::gone = 0;
    goroutine_local<counted> c;
    for (int i = 1; i <= 100; ++i) {
      spawn([&] { c.get(); }).join();
      ASSERT_EQ(counted::made, i);
      ASSERT_EQ(counted::gone, i);
    }
    auto h = spawn([&] {
      c.get();
      weft::this_goroutine::exit();
    });
    EXPECT_THROW(h.join(), weft::goroutine_exited);
    EXPECT_EQ(counted::gone, 101);
  });
}

TEST(goroutine_local, ends_with_go) {
  with_procs(2, [] {
    counted::made = counted::gone = 0;
    goroutine_local<counted> c;
    weft::go([&] { c.get(); });
    while (counted::gone == 0) yield();
    EXPECT_EQ(counted::made, 1);
  });
}

TEST(goroutine_local, ends_with_a_thread) {
  counted::made = counted::gone = 0;
  goroutine_local<counted> c;
  std::thread([&] { c.get(); }).join();
  EXPECT_EQ(counted::made, 1);
  EXPECT_EQ(counted::gone, 1);
}

std::string order;
template <char Letter>
struct writes {
  ~writes() { order += Letter; }
};

TEST(goroutine_local, reverse_order) {
  with_procs(1, [] {
    order.clear();
    goroutine_local<writes<'a'>> a;
    goroutine_local<writes<'b'>> b;
    goroutine_local<writes<'c'>> c;
    spawn([&] { b.get(), c.get(), a.get(); }).join();
    EXPECT_EQ(order, "acb");
  });
}

goroutine_local<writes<'z'>> resurrected;
struct resurrects {
  ~resurrects() { resurrected.get(); }
};

TEST(goroutine_local, destructor_makes_another) {
  with_procs(1, [] {
    order.clear();
    goroutine_local<resurrects> r;
    spawn([&] { resurrected.get(), r.get(); }).join();   // r goes first, makes nothing new; then z
    EXPECT_EQ(order, "z");
    order.clear();
    spawn([&] { r.get(), resurrected.get(); }).join();   // z goes, r makes it anew
    EXPECT_EQ(order, "zz");
  });
}

// A variable that takes a dead one's place does not see its values.
TEST(goroutine_local, places_are_reused) {
  with_procs(1, [] {
    counted::made = counted::gone = 0;
    for (int i = 0; i < 10'000; ++i) {
      goroutine_local<int> x;
      goroutine_local<counted> c;
      ASSERT_EQ(*x, 0);
      *x = i + 1;
      c.get();
      ASSERT_EQ(counted::made, i + 1);
    }
    EXPECT_GE(counted::gone, 9'990);
  });
}

TEST(goroutine_local, a_place_taken_elsewhere) {
  with_procs(1, [] {
    {
      goroutine_local<int> old;
      *old = 5;
    }
    goroutine_local<int> x;
    spawn([&] { *x = 6; }).join();         // x has the place now, and we still old's value in it
    EXPECT_EQ(x.peek(), nullptr);
    EXPECT_EQ(*x, 0);
  });
}

TEST(goroutine_local, limit_is_an_exception) {
  with_procs(1, [] {
    std::vector<std::unique_ptr<goroutine_local<char>>> many;
    const auto fill = [&] {
      for (int i = 0; i < 5000; ++i) {
        many.push_back(std::make_unique<goroutine_local<char>>());
        many.back()->get() = 'x';
      }
    };
    EXPECT_THROW(fill(), std::length_error);
    many.clear();
    goroutine_local<int> again;
    EXPECT_EQ(*again, 0);
  });
}

TEST(goroutine_local, throwing_constructor) {
  with_procs(1, [] {
    static bool fail = true;
    struct picky {
      picky() { if (fail) throw 1; }
      int v = 4;
    };
    goroutine_local<picky> p;
    EXPECT_THROW(p.get(), int);
    EXPECT_EQ(p.peek(), nullptr);
    fail = false;
    EXPECT_EQ(p->v, 4);
  });
}

}  // namespace
