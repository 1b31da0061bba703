// exceptions.cpp — unwinding through frames with destructors, in part rethrown, in part nested.
#include <exception>
#include <string>

#include "kit.hpp"

namespace soak {

namespace {

constexpr int deepest = 12;

class counted {
 public:
  explicit counted(int& live) : live_(live) { ++live_; }
  counted(const counted&) = delete;
  ~counted() { --live_; }

 private:
  int& live_;
};

[[gnu::noinline]] void descend(int depth, int& live) {
  counted here(live);
  std::string kept(static_cast<std::size_t>(depth) * 8, 'x');   // on the heap from some depth on
  if (depth == 0) throw std::runtime_error("at the bottom");
  try {
    descend(depth - 1, live);
  } catch (const std::runtime_error&) {
    require(kept.size() == static_cast<std::size_t>(depth) * 8, "a local changed during unwinding");
    if (depth % 4 == 0) std::throw_with_nested(std::runtime_error("on the way up"));
    throw;
  }
}

int depth_of(const std::exception& e) {
  try {
    std::rethrow_if_nested(e);
  } catch (const std::exception& inner) {
    return 1 + depth_of(inner);
  }
  return 1;
}

}  // namespace

void throw_and_catch(kit& mine) {
  const int depth = mine.random.below(deepest);
  int live = 0;
  bool caught = false;
  try {
    descend(depth, live);
  } catch (const std::exception& e) {
    caught = true;
    require(depth_of(e) == 1 + depth / 4, "a nested exception got lost");
  }
  require(caught && live == 0, "a destructor did not run");
  require(std::uncaught_exceptions() == 0 && !std::current_exception(), "an exception is still there");
}

}  // namespace soak
