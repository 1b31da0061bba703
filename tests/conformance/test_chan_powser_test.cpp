// test_chan_powser_test.cpp — Go's test/chan/powser1 and powser2: power series as goroutines that send one
// coefficient after the other (M. D. McIlroy, "Squinting at Power Series"). Multiplication, reciprocal,
// exponential and composition build networks of goroutines, some of which feed on their own output.
#include <cstdint>
#include <deque>
#include <memory>
#include <numeric>
#include <vector>

#include "support/weft_test.hpp"
#include "weft/chan.hpp"
#include "weft/go.hpp"
#include "weft/select.hpp"

namespace {

// Series run a little ahead of what is looked at; a coefficient too large for the type becomes 0 there.
struct rational {
  std::int64_t num = 0, den = 1;
  rational() = default;
  rational(std::int64_t n, std::int64_t d = 1) {
    const std::int64_t g = std::gcd(n, d) * (d < 0 ? -1 : 1);
    if (g == 0) return;
    num = n / g;
    den = d / g;
  }
  friend rational operator+(rational a, rational b) {
    std::int64_t x, y, n, d;
    if (__builtin_mul_overflow(a.num, b.den, &x) || __builtin_mul_overflow(b.num, a.den, &y) ||
        __builtin_add_overflow(x, y, &n) || __builtin_mul_overflow(a.den, b.den, &d))
      return {};
    return {n, d};
  }
  friend rational operator*(rational a, rational b) {
    std::int64_t n, d;
    if (__builtin_mul_overflow(a.num, b.num, &n) || __builtin_mul_overflow(a.den, b.den, &d)) return {};
    return {n, d};
  }
  friend rational operator-(rational a) { return {-a.num, a.den}; }
  friend bool operator==(rational a, rational b) = default;
};
rational inverse(rational a) { return {a.den, a.num}; }

// How a coefficient travels: powser1 as bytes in the channel's slots, powser2 behind a pointer.
struct by_value {
  using type = rational;
  static type wrap(rational r) { return r; }
  static rational open(type&& t) { return t; }
};
struct by_pointer {
  using type = std::unique_ptr<rational>;
  static type wrap(rational r) { return std::make_unique<rational>(r); }
  static rational open(type&& t) { return *t; }
};

template <class How>
struct power_series {
  using series = weft::chan<typename How::type>;

  static void put(const series& out, rational r) { out.send(How::wrap(r)); }
  static rational get(const series& in) { return How::open(*in.recv()); }
  static void copy(const series& in, const series& out) {
    for (;;) out.send(*in.recv());
  }
  template <class F>
  static series make(F f) {
    auto out = weft::make_chan<typename How::type>();
    weft::go([out, f] { f(out); });
    return out;
  }

  // Each coefficient more takes goroutines more, and ThreadSanitizer has few.
  static constexpr std::size_t ahead = weft_test::under_tsan ? 4 : 16;

  // Two readers of one series; each may be ahead of the other, within limits, or a network that feeds on
  // itself would never rest. Reads on only when a reader has nothing left.
  static std::pair<series, series> split(series in) {
    auto a = weft::make_chan<typename How::type>(), b = weft::make_chan<typename How::type>();
    weft::go([=] {
      std::deque<rational> for_a, for_b;
      for (;;) {
        const bool starving = (for_a.empty() || for_b.empty()) && for_a.size() + for_b.size() < ahead;
        weft::select(
            weft::on_recv(starving ? in : series(), [&](auto v) {
              const rational r = How::open(std::move(*v));
              for_a.push_back(r);
              for_b.push_back(r);
            }),
            weft::on_send(for_a.empty() ? series() : a, How::wrap(for_a.empty() ? rational() : for_a.front()),
                          [&] { for_a.pop_front(); }),
            weft::on_send(for_b.empty() ? series() : b, How::wrap(for_b.empty() ? rational() : for_b.front()),
                          [&] { for_b.pop_front(); }));
      }
    });
    return {a, b};
  }

  static series repeat(rational r) {
    return make([=](series out) {
      for (;;) put(out, r);
    });
  }
  static series x() {
    return make([](series out) {
      put(out, 0);
      put(out, 1);
      for (;;) put(out, 0);
    });
  }
  static series add(series u, series v) {
    return make([=](series out) {
      for (;;) {
        const rational a = get(u);
        put(out, a + get(v));
      }
    });
  }
  static series scale(rational c, series u) {
    return make([=](series out) {
      for (;;) put(out, c * get(u));
    });
  }
  static series multiply(series u, series v) {   // u0 v0 + x (u0 v' + v0 u' + x u' v')
    return make([=](series out) {
      const rational f = get(u), g = get(v);
      put(out, f * g);
      auto [u1, u2] = split(u);
      auto [v1, v2] = split(v);
      series low = add(scale(f, v1), scale(g, u1));
      put(out, get(low));
      copy(add(low, multiply(u2, v2)), out);
    });
  }
  static series derivative(series u) {
    return make([=](series out) {
      get(u);
      for (std::int64_t n = 1;; ++n) put(out, rational(n) * get(u));
    });
  }
  static series integral(rational constant, series u) {
    return make([=](series out) {
      put(out, constant);
      for (std::int64_t n = 1;; ++n) put(out, rational(1, n) * get(u));
    });
  }
  static series reciprocal(series u) {   // r = 1/u0 - x u' r / u0
    auto r = weft::make_chan<typename How::type>();
    auto [mine, result] = split(r);
    weft::go([=, mine = mine] {
      const rational z = inverse(get(u));
      put(r, z);
      copy(scale(-z, multiply(u, mine)), r);
    });
    return result;
  }
  static series exponential(series u) {   // e' = u' e; for u0 == 0
    auto e = weft::make_chan<typename How::type>();
    auto [mine, result] = split(e);
    weft::go([=, mine = mine] { copy(integral(1, multiply(derivative(u), mine)), e); });
    return result;
  }
  static series compose(series f, series g) {   // f0 + x (g/x) f'(g); for g0 == 0
    return make([=](series out) {
      put(out, get(f));
      auto [g1, g2] = split(g);
      get(g1);
      copy(multiply(g1, compose(f, g2)), out);
    });
  }

  static void expect(const char* what, series s, std::vector<rational> wanted) {
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      const rational r = get(s);
      EXPECT_TRUE(r == wanted[i]) << what << ", x^" << i << ": " << r.num << '/' << r.den;
    }
  }

  static void check_all() {
    expect("ones", repeat(1), {1, 1, 1, 1, 1, 1});
    expect("ones + twos", add(repeat(1), repeat(2)), {3, 3, 3, 3, 3, 3});
    expect("d/dx ones", derivative(repeat(1)), {1, 2, 3, 4, 5, 6});
    expect("integral", integral(0, repeat(1)), {0, 1, {1, 2}, {1, 3}, {1, 4}, {1, 5}});
    expect("ones * ones", multiply(repeat(1), repeat(1)), {1, 2, 3, 4, 5, 6});
    expect("1 / ones", reciprocal(repeat(1)), {1, -1, 0, 0, 0, 0});
    expect("exp x", exponential(x()), {1, 1, {1, 2}, {1, 6}, {1, 24}, {1, 120}});
    expect("exp(-log(1-x))", exponential(integral(0, repeat(1))), {1, 1, 1, 1, 1, 1});
    expect("exp x * exp -x", multiply(exponential(x()), exponential(scale(-1, x()))), {1, 0, 0, 0, 0});
    expect("1/(1-y), y = -x", compose(repeat(1), scale(-1, x())), {1, -1, 1, -1, 1});
    expect("1/(1-y), y = x + x^2 + ...", compose(repeat(1), multiply(x(), repeat(1))), {1, 1, 2, 4, 8});
  }
};

template <class How>
void run_power_series() {
  if (weft_test::under_tsan)
    weft_test::with_procs(2, power_series<How>::check_all);
  else
    weft_test::for_each_procs(power_series<How>::check_all);
}

TEST(test_chan, powser1) { run_power_series<by_value>(); }
TEST(test_chan, powser2) { run_power_series<by_pointer>(); }

}  // namespace
