// settings.cpp — from texts to settings; see the header for what is allowed.
#include "base/settings.hpp"

#include <stdlib.h>

#include <charconv>
#include <string_view>

#include "base/check.hpp"
#include "base/print.hpp"

namespace weft::inline v0::rt {
namespace {

void complain(printer& out, std::string_view variable, std::string_view value,
              std::string_view allowed) noexcept {
  constexpr std::size_t most_shown = 100;
  out << "weft: " << variable << '=' << value.substr(0, most_shown);
  out << (value.size() > most_shown ? "..." : "") << ": ignored; allowed: " << allowed << '\n';
  out.flush();   // one line, one write
}

// Digits and nothing else.
bool to_number(std::string_view text, std::int64_t least, std::int64_t most, std::int64_t& number) noexcept {
  std::int64_t n = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), n);
  if (error != std::errc() || end != text.data() + text.size() || n < least || n > most) return false;
  number = n;
  return true;
}

// A number of bytes, perhaps with a unit.
bool to_bytes(std::string_view text, std::int64_t least, std::int64_t most, std::int64_t& bytes) noexcept {
  if (text.ends_with("iB")) {
    text.remove_suffix(2);
    if (!text.ends_with('K') && !text.ends_with('M') && !text.ends_with('G')) return false;
  }
  int shift = 0;
  if (text.ends_with('K')) shift = 10;
  if (text.ends_with('M')) shift = 20;
  if (text.ends_with('G')) shift = 30;
  if (shift) text.remove_suffix(1);
  std::int64_t n = 0;
  if (!to_number(text, 0, most >> shift, n) || n << shift < least) return false;
  bytes = n << shift;
  return true;
}

bool to_level(std::string_view text, traceback_level& level) noexcept {
  constexpr std::string_view names[] = {"none", "single", "all", "system", "crash"};
  for (int i = 0; i < 5; ++i) {
    if (text != names[i]) continue;
    level = static_cast<traceback_level>(i);
    return true;
  }
  return false;
}

// ---- WEFTDEBUG ----

struct debug_switch {
  std::string_view key;
  bool settings::* value;
};
constexpr debug_switch debug_switches[] = {
    {"scheddetail", &settings::scheddetail},
    {"containermaxprocs", &settings::containermaxprocs},
    {"updatemaxprocs", &settings::updatemaxprocs},
    {"asyncpreemptoff", &settings::asyncpreemptoff},
    {"blockwarn", &settings::blockwarn},
    {"watchdog", &settings::watchdog},
};
constexpr std::string_view debug_allowed =
    "schedtrace=MS (0 to 1000000000), slice=US (100 to 1000000), and =0 or =1 for scheddetail, "
    "containermaxprocs, updatemaxprocs, asyncpreemptoff, blockwarn, watchdog; separated by commas";

bool set_debug(std::string_view item, settings& s) noexcept {
  std::size_t equals = item.find('=');
  if (equals == item.npos) return false;
  std::string_view key = item.substr(0, equals), value = item.substr(equals + 1);
  std::int64_t n = 0;
  if (key == "schedtrace") {
    if (!to_number(value, 0, 1'000'000'000, n)) return false;
    s.schedtrace_ms = static_cast<int>(n);
    return true;
  }
  if (key == "slice") {
    if (!to_number(value, 100, 1'000'000, n)) return false;
    s.slice_us = static_cast<int>(n);
    return true;
  }
  for (const debug_switch& d : debug_switches) {
    if (key != d.key) continue;
    if (!to_number(value, 0, 1, n)) return false;
    s.*d.value = n != 0;
    return true;
  }
  return false;
}

void parse_debug(std::string_view text, settings& s, printer& complaints) noexcept {
  while (!text.empty()) {
    std::string_view item = text.substr(0, text.find(','));
    text.remove_prefix(item.size() == text.size() ? item.size() : item.size() + 1);
    if (!item.empty() && !set_debug(item, s)) complain(complaints, "WEFTDEBUG", item, debug_allowed);
  }
}

settings current;
bool initialised = false;

}  // namespace

settings parse_settings(const environment& texts, printer& complaints) noexcept {
  settings s;
  auto each = [&](const char* variable, const char* text, const char* allowed, auto&& accept) {
    if (text && *text && !accept(std::string_view(text))) complain(complaints, variable, text, allowed);
  };
  std::int64_t n = 0;
  static_assert(most_processors == 4096);
  each("WEFT_MAXPROCS", texts.maxprocs, "a number from 1 to 4096", [&](std::string_view text) {
    if (!to_number(text, 1, most_processors, n)) return false;
    s.maxprocs = static_cast<int>(n);
    return true;
  });
  constexpr char sizes[] = "16KiB to 1GiB, in bytes or with K, M, G, KiB, MiB, GiB";
  each("WEFT_STACK", texts.stack, sizes, [&](std::string_view text) {
    if (!to_bytes(text, 16 << 10, 1 << 30, n)) return false;
    s.stack_size = static_cast<std::size_t>(n);
    return true;
  });
  each("WEFT_MAXTHREADS", texts.maxthreads, "a number from 1 to 1000000", [&](std::string_view text) {
    if (!to_number(text, 1, 1'000'000, n)) return false;
    s.max_threads = static_cast<int>(n);
    return true;
  });
  each("WEFT_STACKGUARD", texts.stackguard, "on, strict", [&](std::string_view text) {
    s.strict_guards = text == "strict";
    return s.strict_guards || text == "on";
  });
  each("WEFT_TRACEBACK", texts.traceback, "none, single, all, system, crash",
       [&](std::string_view text) { return to_level(text, s.traceback); });
  if (texts.debug) parse_debug(texts.debug, s, complaints);
  return s;
}

void settings_init() noexcept {
  if (initialised) return;
  initialised = true;
  printer complaints;
  current = parse_settings({.maxprocs = getenv("WEFT_MAXPROCS"),
                            .stack = getenv("WEFT_STACK"),
                            .maxthreads = getenv("WEFT_MAXTHREADS"),
                            .stackguard = getenv("WEFT_STACKGUARD"),
                            .traceback = getenv("WEFT_TRACEBACK"),
                            .debug = getenv("WEFTDEBUG")},
                           complaints);
  set_crash_on_fatal(current.traceback == traceback_level::crash);
}

const settings& current_settings() noexcept { return current; }

}  // namespace weft::inline v0::rt
