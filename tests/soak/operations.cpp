// operations.cpp — the list.
#include "kit.hpp"

namespace soak {

namespace {

constexpr operation all[] = {
    {"malloc", "malloc and free, 16 bytes to 512 KiB", allocate, true},
    {"large", "malloc and free, above 1 KiB: the arena's lock each time", allocate_large, false},
    {"streams", "ostringstream and istringstream", format, true},
    {"files", "ofstream to /dev/null", write_file, true},
    {"exceptions", "throw and catch through frames with destructors", throw_and_catch, true},
    {"dlopen", "dlopen, dlsym and dlclose of libraries with TLS", load_library, true},
    {"time", "localtime_r, strftime and mktime", tell_time, true},
    {"getenv", "getenv", read_environment, true},
    {"regex", "std::regex", match, true},
    {"pipe", "write to a pipe and read it back", use_pipe, true},
    {"sleep", "usleep", sleep_a_little, false},
};

}  // namespace

std::span<const operation> operations() { return all; }

}  // namespace soak
