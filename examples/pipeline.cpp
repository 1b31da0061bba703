// pipeline.cpp — stages joined by channels: each stage is a goroutine that reads one and closes the next.
#include <cstdio>
#include <string>

#include "weft/weft.hpp"

static weft::chan<long> numbers(long last) {
  auto out = weft::make_chan<long>(16);
  weft::go([=] {
    for (long i = 1; i <= last; ++i) out.send(i);
    out.close();
  });
  return out;
}

// Any stage: what `f` makes of each value goes on, in order.
template <class In, class F>
static auto stage(weft::chan<In> in, F f) {
  using result = std::invoke_result_t<F, In>;
  auto out = weft::make_chan<result>(16);
  weft::go([=] {
    for (In v : in) out.send(f(v));
    out.close();
  });
  return out;
}

int main() {
  return weft::run([] {
    auto squares = stage(numbers(10), [](long v) { return v * v; });
    auto texts = stage(squares, [](long v) { return "[" + std::to_string(v) + "]"; });
    std::string line;
    for (const std::string& text : texts) line += text;
    std::puts(line.c_str());
    return line == "[1][4][9][16][25][36][49][64][81][100]" ? 0 : 1;
  });
}
