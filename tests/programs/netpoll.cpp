// netpoll.cpp — worlds whose goroutines only wait for the kernel. Run by tests/conformance/netpoll_test.cpp.
#include <chrono>
#include <system_error>

#include "support/cases.hpp"
#include "weft/net/tcp.hpp"
#include "weft/this_goroutine.hpp"
#include "weft/wait_group.hpp"

namespace {

using namespace std::chrono_literals;

// Main waits for accept, with nothing else alive: first with a limit, then until a timer's goroutine
// connects.
void deadlock() {
  auto listener = weft::net::tcp_listener::bind("127.0.0.1:0");
  std::error_code ec;
  listener.accept_for(200ms, ec);
  weft::wait_group all;
  all.go([&] {
    weft::this_goroutine::sleep_for(200ms);
    weft::net::tcp_stream::connect(listener.local_endpoint());
  });
  listener.accept();
  all.wait();
}

constexpr weft_test::named_case cases[] = {{"deadlock", deadlock}};

}  // namespace

int main(int argc, char** argv) { return argc < 2 ? 2 : weft_test::run_case(cases, argv[1], 1, "done"); }
