// goroutine_local.hpp — the end of a goroutine's locals.
#pragma once

namespace weft::inline v0::rt {

// Destroys the calling goroutine's locals, if it has any. Outside; runs user code.
void end_goroutine_locals() noexcept;

}  // namespace weft::inline v0::rt
