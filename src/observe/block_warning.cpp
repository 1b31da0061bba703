// block_warning.cpp — the place is where the thread entered the kernel: in a wrapper of libc, as a rule, so
// the name of the call says as much. Whose call it is the goroutine's id tells, with a dump.
//
// No symbols: the tables are behind locks that the blocked thread may hold. `addr2line` names module+offset.
#include "observe/block_warning.hpp"

#include "base/print.hpp"
#include "observe/modules.hpp"
#include "os/os.hpp"
#include "sched/block_warning.hpp"

namespace weft::inline v0::rt {
namespace {

constinit module_table modules{};                    // the helper thread's; large

void print(const block_warning& w) noexcept {
  printer out;
  out << "weft: goroutine " << w.goroutine << " blocked its thread in ";
  if (const char* name = os::call_name(w.call))
    out << name;
  else if (w.call >= 0)
    out << "system call " << static_cast<std::int64_t>(w.call);
  else
    out << "a call";
  if (w.pc != nullptr) {
    const module_table::found at = modules.find(w.pc);
    out << " at " << w.pc;
    if (!at.path.empty()) {
      out << ' ' << at.path << '+';
      out.hex(at.offset);
    }
  }
  if (w.not_told != 0) out << " (and " << w.not_told << " times more)";
  out << '\n';
}

}  // namespace

void print_block_warnings() noexcept {
  block_warning w;
  bool read = false;
  while (next_block_warning(w)) {
    if (!read) modules.read();                       // anew: libraries come and go
    read = true;
    print(w);
  }
  if (const std::uint32_t lost = take_lost_warnings(); lost != 0)
    printer() << "weft: " << lost << " more calls blocked their threads\n";
}

}  // namespace weft::inline v0::rt
