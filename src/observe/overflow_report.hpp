// overflow_report.hpp — reports of stacks that have run out: a goroutine's, and a thread's of the runtime.
#pragma once

namespace weft::inline v0::rt {

void install_overflow_reports() noexcept;   // once, outside

}  // namespace weft::inline v0::rt
