// schedtrace.hpp — WEFTDEBUG=schedtrace=MS[,scheddetail=1]: Go's line about the scheduler, byte for byte.
//
// On the helper thread at each interval that sysmon finds, while a world runs; and in detail, with schedtrace
// on, when the process dies of a fatal error.
#pragma once

namespace weft::inline v0::rt {

// One line, or with `detail` one for each P, M and G too. Numbers are read while everything runs.
void print_schedtrace(bool detail) noexcept;

}  // namespace weft::inline v0::rt
