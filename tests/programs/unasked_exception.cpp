// unasked_exception.cpp — a spawned goroutine throws, and its handle is joined, detached or dropped.
#include <cstring>
#include <stdexcept>

#include "weft/go.hpp"
#include "weft/join_handle.hpp"
#include "weft/runtime.hpp"
#include "weft/this_goroutine.hpp"

int main(int, char** argv) {
  const auto is = [how = argv[1]](const char* s) { return std::strcmp(how, s) == 0; };
  return weft::run([&] {
    auto h = weft::spawn([] { throw std::runtime_error("nobody asked"); });
    if (is("join")) {
      try {
        h.join();
      } catch (const std::runtime_error&) {
        return 0;
      }
      return 1;
    }
    if (is("detach_before")) h.detach();
    for (int i = 0; i < 1000; ++i) weft::this_goroutine::yield();
    if (is("detach_after")) h.detach();
    if (is("destroy")) h = {};
    weft::this_goroutine::sleep_for(std::chrono::seconds(5));
    return 1;
  });
}
