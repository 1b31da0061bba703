// resolve.cpp — weft::net::resolve, and connecting by name.
#include "weft/net/resolve.hpp"

#include <ares.h>

#include "resolve/query.hpp"
#include "weft/chan.hpp"
#include "weft/go.hpp"

namespace weft::inline v0::net {
namespace {

using namespace std::chrono_literals;
constexpr auto head_start = 250ms;                   // of each address before the next one is tried

class category final : public std::error_category {
 public:
  const char* name() const noexcept override { return "c-ares"; }
  std::string message(int code) const override { return ares_strerror(code); }
};

std::vector<address> resolve_within(const std::string& host, const detail::wait_limits& limits,
                                    std::error_code& ec) {
  ec.clear();
  if (const auto literal = address::parse(host)) return {*literal};
  query q(ec);
  return ec ? std::vector<address>() : q.ask(host, limits, ec);
}

struct attempt_result {
  std::size_t which;
  tcp_stream stream;
  std::error_code error;
};

// All attempts share a channel with room for all: a loser's connection is closed where it lies.
class race {
 public:
  race(std::vector<address> to, std::uint16_t port, const std::stop_token& stop)
      : to_(std::move(to)),
        port_(port),
        results_(make_chan<attempt_result>(to_.size())),
        cancel_(stop, stop_all{&losers_}) {}
  ~race() { losers_.request_stop(); }

  tcp_stream run(std::error_code& ec) {
    for (std::size_t ended = 0; ended < to_.size();) {
      if (begun_ == ended) begin_next();
      const bool others_wait = begun_ < to_.size();
      auto result = others_wait ? results_.recv_for(head_start).to_optional() : results_.recv();
      if (!result) {                                 // it takes its time
        begin_next();
        continue;
      }
      if (!result->error) return ec.clear(), std::move(result->stream);
      ++ended;
      if (result->which == 0) ec = result->error;
    }
    return {};
  }

 private:
  void begin_next() {
    go([out = results_, at = endpoint(to_[begun_], port_), which = begun_, stop = losers_.get_token()] {
      std::error_code error;
      tcp_stream stream = tcp_stream::connect(at, error, stop);
      out.send({which, std::move(stream), error});
    });
    ++begun_;
  }
  struct stop_all {
    std::stop_source* losers;
    void operator()() const noexcept { losers->request_stop(); }
  };

  std::vector<address> to_;
  std::uint16_t port_;
  std::size_t begun_ = 0;
  chan<attempt_result> results_;
  std::stop_source losers_;
  std::stop_callback<stop_all> cancel_;              // the last member: it may be called at once
};

}  // namespace

const std::error_category& resolve_category() noexcept {
  static const category the_one;
  return the_one;
}

std::vector<address> resolve(const std::string& host, std::error_code& ec, std::stop_token stop) {
  return resolve_within(host, {detail::never, &stop}, ec);
}
std::vector<address> resolve(const std::string& host, std::stop_token stop) {
  return detail::or_throw(host.c_str(), [&](std::error_code& ec) { return resolve(host, ec, stop); });
}
std::vector<address> resolve_for(const std::string& host, std::chrono::nanoseconds limit, std::error_code& ec,
                                 std::stop_token stop) {
  return resolve_within(host, {detail::deadline_after(limit), &stop}, ec);
}

tcp_stream connect(const std::string& host, std::uint16_t port, std::error_code& ec, std::stop_token stop) {
  std::vector<address> to = resolve(host, ec, stop);
  return ec ? tcp_stream() : race(std::move(to), port, stop).run(ec);
}
tcp_stream connect(const std::string& host, std::uint16_t port, std::stop_token stop) {
  return detail::or_throw(host.c_str(), [&](std::error_code& ec) { return connect(host, port, ec, stop); });
}

}  // namespace weft::inline v0::net
