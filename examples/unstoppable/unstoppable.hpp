// unstoppable.hpp — code that keeps its thread for one second and knows nothing of Weft: the cases.
//
// A case is run in a goroutine of its own, with 8 MiB of stack, and returns when its second is over. It
// throws `skipped` when this machine cannot show it, and anything else when what it runs went wrong.
#pragma once
#include <stdexcept>

namespace unstoppable {

struct skipped : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// computing.cpp
void loop();
void loop_without_signals();
void malloc_storm();
void regex();
// blocking.cpp
void printf_to_full_pipe();
void mutex_held_asleep();
void read_empty_pipe();
void page_fault();
// dns.cpp
void name_server();
// processes.cpp
void fork_in_storm();
// sqlite.cpp
void sqlite_lock();

// The other process of sqlite_lock(): its whole main(). Holds the lock until its standard input ends.
int hold_sqlite_lock(const char* path);

}  // namespace unstoppable
