// thread_pointer.cpp — the one thread_local (thread_pointer.hpp).
#include "context/thread_pointer.hpp"

// `used`: nothing but the asm in this_machine() reads it, and link-time optimisation does not see that.
extern "C" {
[[gnu::tls_model("initial-exec"), gnu::visibility("hidden"), gnu::used]] thread_local weft::rt::machine*
    weft_this_machine = nullptr;
}

namespace weft::inline v0::rt {

// Not inlined: the address of the word is computed in here, and so on the thread that runs.
[[gnu::noinline]] void set_this_machine(machine* m) noexcept { weft_this_machine = m; }

}  // namespace weft::inline v0::rt
