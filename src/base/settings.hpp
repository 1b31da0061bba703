// settings.hpp — what the environment may say, read once.
//
//   WEFT_MAXPROCS     1 to 4096 processors; fixes their number (no updates from cgroups)
//   WEFT_STACK        16KiB to 1GiB for a goroutine: bytes, or with K, M, G, KiB, MiB, GiB
//   WEFT_MAXTHREADS   1 to 1000000
//   WEFT_STACKGUARD   on, or strict: no stack without a guard is ever handed out
//   WEFT_TRACEBACK    none, single, all, system, crash
//   WEFTDEBUG         key=value,key=value: schedtrace=MS, slice=US, and scheddetail containermaxprocs
//                     updatemaxprocs asyncpreemptoff blockwarn watchdog, 0 or 1 each
//
// An unset or empty variable means the default. So does a bad one, after one line on stderr that names the
// variable, the value and what is allowed.
#pragma once
#include <cstddef>
#include <cstdint>

namespace weft::inline v0::rt {

class printer;

inline constexpr int most_processors = 4096;

enum class traceback_level : std::uint8_t {
  none,     // no goroutine is shown
  single,   // the one that failed
  all,      // every goroutine of the user's
  system,   // with the runtime's frames, and which M runs which G
  crash,    // as system, then abort with a core
};

struct settings {
  int maxprocs = 0;   // 0: from the affinity mask and the cgroups
  std::size_t stack_size = 256 * 1024;
  int max_threads = 10'000;
  bool strict_guards = false;
  traceback_level traceback = traceback_level::all;
  // WEFTDEBUG
  int schedtrace_ms = 0;              // a line every so often; 0: never
  bool scheddetail = false;           // schedtrace shows every P, M and G
  bool containermaxprocs = true;      // the cgroups count
  bool asyncpreemptoff = false;       // no signals: who does not answer in time loses its processor instead
  bool blockwarn = false;             // a line about a call that blocked a thread without being announced
  bool watchdog = true;               // tell when nothing is scheduled for a second
  int slice_us = 0;                   // the length of a slice, for tests; 0: 10 ms
  bool updatemaxprocs = true;         // and are followed while the program runs
};

// The texts of the variables; null where unset.
struct environment {
  const char* maxprocs = nullptr;
  const char* stack = nullptr;
  const char* maxthreads = nullptr;
  const char* stackguard = nullptr;
  const char* traceback = nullptr;
  const char* debug = nullptr;
};
settings parse_settings(const environment& texts, printer& complaints) noexcept;

// The process's own. settings_init(): outside the runtime, before any other use; later calls do nothing.
void settings_init() noexcept;
const settings& current_settings() noexcept;

}  // namespace weft::inline v0::rt
