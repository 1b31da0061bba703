// install.hpp — the one place where this floor makes itself known to those below: every port, every handler.
#pragma once

namespace weft::inline v0::rt {

// At the first run(), outside, before any goroutine runs; later calls do nothing. The port `first_run`.
void observe_install() noexcept;

}  // namespace weft::inline v0::rt
