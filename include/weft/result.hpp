// result.hpp — a value, or the errc that says why there is none. The surface of std::expected<T, errc>.
//
// A class of its own, never an alias of std::expected: what a function's type is must not depend on whether
// its user compiles as C++20 or C++23.
#pragma once
#include <concepts>
#include <functional>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>

#include "weft/error.hpp"

namespace weft::inline v0 {

template <class T>
class [[nodiscard]] result {
 public:
  using value_type = T;
  using error_type = errc;

  template <class U = T>
    requires(std::constructible_from<T, U> && !std::same_as<std::remove_cvref_t<U>, result> &&
             !std::same_as<std::remove_cvref_t<U>, errc>)
  result(U&& value) : value_(std::in_place, std::forward<U>(value)) {}   // implicit, as in std::expected
  result(errc e) noexcept : error_(e) {}
  // An empty optional becomes `otherwise`.
  result(std::optional<T>&& value, errc otherwise) : value_(std::move(value)), error_(otherwise) {}

  bool has_value() const noexcept { return value_.has_value(); }
  explicit operator bool() const noexcept { return value_.has_value(); }
  errc error() const noexcept { return error_; }   // only without a value

  T& operator*() & noexcept { return *value_; }
  const T& operator*() const& noexcept { return *value_; }
  T&& operator*() && noexcept { return std::move(*value_); }
  T* operator->() noexcept { return std::addressof(*value_); }
  const T* operator->() const noexcept { return std::addressof(*value_); }

  // Throw std::system_error(error()) without a value.
  T& value() & { return check(), *value_; }
  const T& value() const& { return check(), *value_; }
  T&& value() && { return check(), std::move(*value_); }

  template <class U>
  T value_or(U&& other) const& { return value_ ? *value_ : static_cast<T>(std::forward<U>(other)); }
  template <class U>
  T value_or(U&& other) && { return value_ ? std::move(*value_) : static_cast<T>(std::forward<U>(other)); }
  errc error_or(errc other) const noexcept { return value_ ? other : error_; }

  // f(value) gives the next result; an error stays what it is.
  template <class F>
  auto and_then(F&& f) && -> std::remove_cvref_t<std::invoke_result_t<F, T&&>> {
    if (!value_) return error_;
    return std::invoke(std::forward<F>(f), std::move(*value_));
  }
  // f(value) gives the next value.
  template <class F>
  auto transform(F&& f) && -> result<std::remove_cvref_t<std::invoke_result_t<F, T&&>>> {
    using next = result<std::remove_cvref_t<std::invoke_result_t<F, T&&>>>;
    if (!value_) return next(error_);
    if constexpr (std::is_void_v<typename next::value_type>) {
      std::invoke(std::forward<F>(f), std::move(*value_));
      return next();
    } else {
      return next(std::invoke(std::forward<F>(f), std::move(*value_)));
    }
  }
  // f(error) gives a result instead.
  template <class F>
  result or_else(F&& f) && {
    if (value_) return std::move(*this);
    return std::invoke(std::forward<F>(f), error_);
  }

  // The value or nothing: for those who do not ask why.
  std::optional<T> to_optional() && { return std::move(value_); }

  friend bool operator==(const result& a, const result& b)
    requires std::equality_comparable<T>
  {
    return a.has_value() == b.has_value() && (a ? *a == *b : a.error_ == b.error_);
  }
  friend bool operator==(const result& a, errc e) noexcept { return !a && a.error_ == e; }

 private:
  void check() const {
    if (!value_) detail::throw_bad_result(error_);
  }
  std::optional<T> value_;
  errc error_{};
};

template <>
class [[nodiscard]] result<void> {
 public:
  using value_type = void;
  using error_type = errc;

  result() noexcept = default;
  result(errc e) noexcept : error_(e) {}

  bool has_value() const noexcept { return error_ == errc{}; }
  explicit operator bool() const noexcept { return has_value(); }
  errc error() const noexcept { return error_; }
  errc error_or(errc other) const noexcept { return has_value() ? other : error_; }
  void operator*() const noexcept {}
  void value() const {
    if (!has_value()) detail::throw_bad_result(error_);
  }
  template <class F>
  auto and_then(F&& f) const -> std::remove_cvref_t<std::invoke_result_t<F>> {
    if (!has_value()) return error_;
    return std::invoke(std::forward<F>(f));
  }

  friend bool operator==(result a, result b) noexcept = default;
  friend bool operator==(result a, errc e) noexcept { return a.error_ == e; }

 private:
  errc error_{};   // no errc is 0
};

}  // namespace weft::inline v0
