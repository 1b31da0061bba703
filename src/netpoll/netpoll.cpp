// netpoll.cpp — sched's poll_port: until there is a descriptor a note with a deadline, then the backend.
//
// The M that has nothing to do waits here (find_runnable.cpp, step 9), and every M that runs out of work
// looks here before it steals. A goroutine that becomes ready joins the queue of who found it.
#include "netpoll/netpoll.hpp"

#include <errno.h>

#include <span>

#include "base/note.hpp"
#include "netpoll/uring.hpp"
#include "os/os.hpp"
#include "sched/inside.hpp"
#include "sched/ports.hpp"

namespace weft::inline v0::rt {
namespace {

note before_backend;
atomic<std::int32_t> waiters{0};

// [order] relaxed: read by who goes idle after its own goroutine has parked
bool has_waiters() noexcept { return waiters.load(relaxed) > 0; }

void harvest(std::int64_t deadline, ready_batch& out) noexcept {
  backend::event events[backend::most_events];
  const int n = backend::wait(events, deadline);
  for (const backend::event& e : std::span(events, static_cast<std::size_t>(n))) {
    if (e.token == backend::ring_token)
      uring_harvest(out);
    else if (poll_desc* d = poll_desc::of(e.token))
      d->note_event(e, out);
  }
}

void wait(std::int64_t deadline, ready_batch& out) noexcept {
  if (backend::is_started())
    harvest(deadline, out);
  else
    before_backend.sleep(deadline);
}

void look(ready_batch& out) noexcept {
  if (backend::is_started()) harvest(backend::now, out);
}

void break_wait() noexcept {
  if (backend::is_started())
    backend::wake();
  else
    before_backend.wake();
}

// Its goroutines never run again, and each counts itself out.
void world_ended() noexcept { waiters.store(0, relaxed); }   // [order] relaxed: no M runs

}  // namespace

constinit poll_port poller{wait, break_wait, look, has_waiters, world_ended};

int netpoll_start() noexcept {
  static ranked_lock<lock_rank::leaf> lock;
  if (backend::is_started()) return 0;
  inside in;
  locked hold(lock);
  if (backend::is_started()) return 0;
  if (const int error = backend::start(); error < 0) return error;
  // Who has seen "not started" may sleep on the note; who breaks the wait and has seen it too may wake only
  // that, while the M waits in the backend already. Both look anew.
  before_backend.wake();
  backend::wake();
  return 0;
}

void netpoll_count(std::int32_t more) noexcept {
  waiters.fetch_add(more, relaxed);                  // [order] relaxed: as in has_waiters()
}

poll_desc* netpoll_open(int fd, int& error) noexcept {
  error = netpoll_start();
  if (error < 0) return nullptr;
  poll_desc* d;
  {
    inside in;
    d = take_poll_desc();
  }
  error = -ENOMEM;
  if (d == nullptr) return nullptr;
  d->begin(fd, true);
  error = backend::watch(fd, d->token());
  if (error == 0) return d;
  if (error != -EPERM) {
    d->recycle();
    return nullptr;
  }
  error = 0;                                         // a file, say: always ready, but it may block
  d->begin(fd, false);
  return d;
}

}  // namespace weft::inline v0::rt
