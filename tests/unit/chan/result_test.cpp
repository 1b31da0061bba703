// result_test.cpp — weft/result.hpp and weft/error.hpp.
#include "weft/result.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <string>

namespace {

using weft::errc;
using weft::result;

TEST(result, holds_a_value) {
  result<std::string> r = "abc";
  ASSERT_TRUE(r);
  EXPECT_TRUE(r.has_value());
  EXPECT_EQ(*r, "abc");
  EXPECT_EQ(r->size(), 3u);
  EXPECT_EQ(r.value(), "abc");
  EXPECT_EQ(r.value_or("x"), "abc");
  EXPECT_EQ(r.error_or(errc::full), errc::full);
  EXPECT_EQ(*std::move(r).to_optional(), "abc");
}

TEST(result, holds_an_error) {
  result<std::string> r = errc::timed_out;
  EXPECT_FALSE(r);
  EXPECT_EQ(r.error(), errc::timed_out);
  EXPECT_TRUE(r == errc::timed_out);
  EXPECT_EQ(r.value_or("x"), "x");
  EXPECT_FALSE(std::move(r).to_optional());
}

TEST(result, value_throws_system_error) {
  result<int> r = errc::closed;
  try {
    static_cast<void>(r.value());
    FAIL();
  } catch (const std::system_error& e) {
    EXPECT_EQ(e.code(), errc::closed);
  }
  EXPECT_THROW(result<void>(errc::full).value(), std::system_error);
  EXPECT_NO_THROW(result<void>().value());
}

TEST(result, moves_its_value) {
  result<std::unique_ptr<int>> r = std::make_unique<int>(5);
  std::unique_ptr<int> p = *std::move(r);
  EXPECT_EQ(*p, 5);
}

TEST(result, chains) {
  auto half = [](int v) -> result<int> { return v % 2 == 0 ? result<int>(v / 2) : result<int>(errc::empty); };
  EXPECT_EQ(*result<int>(8).and_then(half).and_then(half), 2);
  EXPECT_EQ(result<int>(6).and_then(half).and_then(half).error(), errc::empty);
  EXPECT_EQ(result<int>(errc::full).and_then(half).error(), errc::full);
  EXPECT_EQ(*result<int>(8).transform([](int v) { return std::to_string(v); }), "8");
  EXPECT_EQ(*result<int>(errc::full).or_else([](errc) { return result<int>(1); }), 1);
  EXPECT_TRUE(result<int>(8).transform([](int) {}));
}

TEST(result, of_void) {
  EXPECT_TRUE(result<void>());
  result<void> r = errc::full;
  EXPECT_FALSE(r);
  EXPECT_TRUE(r == errc::full);
  EXPECT_EQ(result<void>().and_then([] { return result<int>(3); }).value(), 3);
}

TEST(errc, is_an_error_code) {
  std::error_code code = errc::stopped;
  EXPECT_EQ(code.category(), weft::weft_category());
  EXPECT_STREQ(code.category().name(), "weft");
  EXPECT_EQ(code.message(), "stop requested");
  EXPECT_EQ(code, std::errc::operation_canceled);
  EXPECT_EQ(make_error_code(errc::timed_out), std::errc::timed_out);
  EXPECT_EQ(make_error_code(errc::empty), std::errc::resource_unavailable_try_again);
  EXPECT_EQ(make_error_code(errc::full), std::errc::resource_unavailable_try_again);
  EXPECT_EQ(make_error_code(errc::closed), std::errc::broken_pipe);
  EXPECT_TRUE(code);
}

TEST(errc, texts_of_the_exceptions) {
  EXPECT_STREQ(weft::channel_closed().what(), "send on closed channel");
  static_assert(std::is_base_of_v<std::logic_error, weft::channel_closed>);
}

}  // namespace
