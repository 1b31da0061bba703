// selector.hpp — a select whose cases are known at run time only: up to 65,536, used any number of times.
//
//   weft::selector any;
//   for (auto& in : inputs) any.on_recv(in, [&](std::optional<int> v) { ... });
//   while (running) any.select();
//
// The rules are those of select() (select.hpp). A selector holds the channels and the values of its cases. It
// belongs to one goroutine at a time; handlers must not change it.
#pragma once
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <utility>
#include <vector>

#include "weft/select.hpp"

namespace weft::inline v0 {

class selector {
 public:
  // Add a case and return its number: 0, 1, 2, ... Do not park. Throw std::length_error beyond 65,536 cases.
  template <class C, class F>
    requires detail::receiving<C> && detail::receiver_of<F, typename C::value_type>
  std::size_t on_recv(const C& c, F f) {
    return add(
        std::make_unique<recv_case<typename C::value_type, F>>(detail::chan_access::ref(c), std::move(f)));
  }
  // Sends a copy of `value` each time it fires. A T that cannot be copied is sent once; its case never fires
  // again.
  template <class C, class V, class F>
    requires detail::sending<C> && std::convertible_to<V&&, typename C::value_type> && std::invocable<F&>
  std::size_t on_send(const C& c, V&& value, F f) {
    return add(std::make_unique<send_case<typename C::value_type, F>>(detail::chan_access::ref(c),
                                                                      std::forward<V>(value), std::move(f)));
  }
  // A later call takes the place of an earlier one, whose number never fires again.
  template <std::invocable F>
  std::size_t on_stop(std::stop_token token, F f) {
    stop_at_ = add(std::make_unique<stop_case<F>>(std::move(f)));
    stop_ = std::move(token);
    return stop_at_;
  }

  std::size_t size() const noexcept { return cases_.size(); }
  void clear() noexcept {
    cases_.clear();
    stop_.reset();
  }

  // Fires one case, calls its handler, returns its number. Parks; for ever if no case can ever fire. Throws
  // as select().
  std::size_t select() { return *run(true, detail::never); }
  // Does not park: nothing if no case can go at once.
  std::optional<std::size_t> try_select() { return run(false, detail::never); }
  // Park at most so long.
  template <class Rep, class Period>
  std::optional<std::size_t> select_for(const std::chrono::duration<Rep, Period>& d) {
    return run(true, detail::deadline_after(d));
  }
  template <class Clock, class Duration>
  std::optional<std::size_t> select_until(const std::chrono::time_point<Clock, Duration>& t) {
    return run(true, detail::deadline_at(t));
  }

 private:
  struct any_case {
    virtual ~any_case() = default;
    virtual void prepare(rt::select_case& c) = 0;
    virtual void pass() = 0;
    virtual void fire(bool ok) = 0;
  };

  template <class T, class F>
  struct recv_case final : any_case {
    recv_case(const rt::chan_ref& c, F&& f) : ref(c), handler(std::move(f)) {}
    void prepare(rt::select_case& c) override { c = {.core = ref.get(), .slot = in.place()}; }
    void pass() override {}
    void fire(bool ok) override { detail::call_receiver<T>(handler, ok ? in.take() : std::nullopt); }
    rt::chan_ref ref;
    F handler;
    detail::incoming<T> in;
  };

  template <class T, class F>
  struct send_case final : any_case {
    using value_type = std::conditional_t<std::is_copy_constructible_v<T>, const T, T>;
    template <class V>
    send_case(const rt::chan_ref& c, V&& v, F&& f)
        : ref(c), value(std::forward<V>(v)), handler(std::move(f)) {}
    void prepare(rt::select_case& c) override {
      if (!ref.get()) return void(c = {});
      out.emplace(value);
      c = {.core = ref.get(), .slot = const_cast<void*>(out->data()), .is_send = true};
    }
    void pass() override {
      if (out) out->keep(value);
      out.reset();
    }
    void fire(bool ok) override {
      if (!ok) {
        pass();
        detail::throw_channel_closed();
      }
      out->sent();
      out.reset();
      if constexpr (!std::is_copy_constructible_v<T>) ref = {};
      std::invoke(handler);
    }
    rt::chan_ref ref;
    value_type value;
    F handler;
    std::optional<detail::outgoing<T>> out;
  };

  template <class F>
  struct stop_case final : any_case {
    explicit stop_case(F&& f) : handler(std::move(f)) {}
    void prepare(rt::select_case& c) override { c = {}; }   // a nil channel; the token is in the limits
    void pass() override {}
    void fire(bool) override { std::invoke(handler); }
    F handler;
  };

  std::size_t add(std::unique_ptr<any_case> c) {
    if (cases_.size() == rt::most_select_cases) detail::throw_too_many_cases();
    cases_.push_back(std::move(c));
    return cases_.size() - 1;
  }

  std::optional<std::size_t> run(bool waits, std::int64_t deadline) {
    const std::size_t n = cases_.size();
    list_.resize(n);
    scratch_.resize(rt::select_scratch_size(n) / sizeof(void*) + 1);
    std::uint32_t fired;
    try {
      for (std::size_t i = 0; i < n; ++i) cases_[i]->prepare(list_[i]);
      fired = rt::select_run({list_.data(), static_cast<std::uint32_t>(n), waits, scratch_.data(),
                              {.deadline = deadline, .stop = stop_ ? &*stop_ : nullptr}});
    } catch (...) {
      for (auto& c : cases_) c->pass();
      throw;
    }
    const std::size_t index = fired == rt::select_stopped ? stop_at_ : fired;
    for (std::size_t i = 0; i < n; ++i)
      if (i != index) cases_[i]->pass();
    if (fired == rt::select_timed_out || fired == rt::select_otherwise) return std::nullopt;
    cases_[index]->fire(list_[index].ok);
    return index;
  }

  std::vector<std::unique_ptr<any_case>> cases_;
  std::vector<rt::select_case> list_;
  std::vector<void*> scratch_;
  std::optional<std::stop_token> stop_;
  std::size_t stop_at_ = 0;
};

}  // namespace weft::inline v0
