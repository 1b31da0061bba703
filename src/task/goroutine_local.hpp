// goroutine_local.hpp — the end of a goroutine's locals.
#pragma once

namespace weft::inline v0::rt {

struct goroutine;

// Destroys the calling goroutine's locals, if it has any. Outside; runs user code.
void end_goroutine_locals(goroutine* self) noexcept;

}  // namespace weft::inline v0::rt
