// operations.cpp — the list.
#include "kit.hpp"

namespace soak {

namespace {

constexpr operation all[] = {
    {"malloc", "malloc and free, 16 bytes to 512 KiB", allocate, 8},
    {"large", "malloc and free, above 1 KiB: the arena's lock each time", allocate_large, 0},
    {"streams", "ostringstream and istringstream", format, 8},
    {"files", "ofstream to /dev/null", write_file, 8},
    {"exceptions", "throw and catch through frames with destructors", throw_and_catch, 8},
    {"dlopen", "dlopen, dlsym and dlclose of libraries with TLS", load_library, 8},
    {"time", "localtime_r, strftime and mktime", tell_time, 8},
    {"getenv", "getenv", read_environment, 8},
    {"regex", "std::regex", match, 8},
    {"pipe", "write to a pipe and read it back", use_pipe, 8},
    {"sleep", "usleep", sleep_a_little, 0},
};

}  // namespace

std::span<const operation> operations() { return all; }

}  // namespace soak
