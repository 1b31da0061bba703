// panic.hpp — the ends that user code causes: an uncaught exception, a stack that has run out, a signal
// (crash.hpp).
//
// All of them print Go's text and the dump. Handlers that were there before are kept:
//   terminate handler   called after the dump; on threads that are no goroutine's, instead of it
//   SIGSEGV, SIGBUS     called for what is not an overflow of a stack of ours
//   the other signals   one of the user's stays alone
#pragma once

namespace weft::inline v0::rt {

void install_panic_handlers() noexcept;   // once, outside

}  // namespace weft::inline v0::rt
