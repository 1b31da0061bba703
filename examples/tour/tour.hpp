// tour.hpp — what a part of the tour is, and how it says what it sees.
//
//   1  A title
//      what is done, in a sentence
//      the evidence, with numbers                                                                      ok
//
// A part returns normally when all its evidence held; check() notes what did not.
#pragma once
#include <chrono>
#include <cstdint>
#include <string>

namespace tour {

using clock = std::chrono::steady_clock;

// One indented line, as printf. say() for what is done, check() for evidence: false is remembered.
[[gnu::format(printf, 1, 2)]] void say(const char* format, ...);
[[gnu::format(printf, 2, 3)]] bool check(bool holds, const char* format, ...);

double seconds(clock::duration d);
double milliseconds(clock::duration d);
double nanoseconds_each(clock::duration d, long n);
std::string grouped(long n);   // 1,000,000

// Bytes that can still be used: what the kernel says is available, or less where a cgroup limits this
// process.
std::int64_t memory_available();
std::int64_t memory_resident();

// scale.cpp
void many_goroutines();
void many_sleepers();
// talk.cpp
void ping_pong();
void select_with_timeout();
void prime_sieve();
// processors.cpp
void stealing();
void skynet();
void schedtrace();

}  // namespace tour
