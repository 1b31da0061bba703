// init_deadlock.cpp — blocks for ever before main() (Go: in an init function).
#include "weft/chan.hpp"
#include "weft/runtime.hpp"

namespace {
const bool never = weft::run([] { return weft::make_chan<int>().recv().has_value(); });
}

int main() { return never; }
