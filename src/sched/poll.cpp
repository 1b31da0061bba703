// poll.cpp — the poller's null backend: nothing to poll, so a note with a deadline.
#include "base/note.hpp"
#include "sched/sched.hpp"

namespace weft::inline v0::rt {
namespace {

note poll_note;

void wait(std::int64_t deadline, ready_batch&) noexcept { poll_note.sleep(deadline); }
void break_wait() noexcept { poll_note.wake(); }
void look(ready_batch&) noexcept {}
bool has_waiters() noexcept { return false; }

}  // namespace

constinit poll_port poller{wait, break_wait, look, has_waiters};

}  // namespace weft::inline v0::rt
