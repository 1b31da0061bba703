// install.hpp — the one place where this floor makes itself known to those below: every port, every handler.
#pragma once

namespace weft::inline v0::rt {

// The port `first_run`: called once, by the first run(), outside, the settings read and no goroutine running.
void observe_install() noexcept;

}  // namespace weft::inline v0::rt
