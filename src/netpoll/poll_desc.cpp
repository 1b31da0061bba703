// poll_desc.cpp — see poll_desc.hpp.
#include "netpoll/poll_desc.hpp"

#include <poll.h>
#include <unistd.h>

#include <algorithm>

#include "netpoll/netpoll.hpp"
#include "os/os.hpp"
#include "sched/inside.hpp"

namespace weft::inline v0::rt {
namespace {

bool is_plain_thread() noexcept {
  const machine* mp = this_machine();
  return mp == nullptr || mp->current->is_thread;
}

}  // namespace

// ---- one direction ----

ready_by poll_direction::check(const detail::wait_limits& limits) const noexcept {
  if (limits.stop && limits.stop->stop_requested()) return ready_by::stop;
  const std::int64_t deadline = deadline_.load(acquire);   // [order] acquire: pairs with set_deadline()
  return deadline != detail::never && os::nanotime() >= deadline ? ready_by::timeout : ready_by::kernel;
}

ready_by poll_direction::wait(const detail::wait_limits& limits, const poll_desc& d) {
  if (is_plain_thread()) [[unlikely]] return wait_as_thread(limits, d);
  for (;;) {
    const std::int64_t lasting = deadline_.load(acquire);  // [order] acquire: as in check()
    maybe_wait_scope scope({std::min(limits.deadline, lasting), limits.stop});
    inside_parking in;
    waiting list(list_);
    list.lock();
    // Who closes it or moves its deadline does that before he takes this lock. [order] relaxed: so
    const bool closing = d.is_closing(), moved = deadline_.load(relaxed) != lasting;
    const bool ready = may_be_ready(), ended = scope.has_ended();
    if (closing || moved || ready || ended) {
      list.unlock();
      if (closing) return ready_by::close;
      if (moved) continue;
      if (ready) return ready_by::kernel;
      return scope.get()->is_stopped() ? ready_by::stop : ready_by::timeout;
    }
    netpoll_count(1);
    static_cast<void>(list.wait(wait_reason::io_wait, scope.get()));   // whatever woke us: look again
    netpoll_count(-1);
  }
}

// It has no scheduler that would poll for it: it asks the kernel by itself, and looks now and then whether
// somebody has closed the descriptor or moved its deadline.
ready_by poll_direction::wait_as_thread(const detail::wait_limits& limits, const poll_desc& d) {
  constexpr std::int64_t look_each = 50'000'000, ms = 1'000'000;
  const short wanted = this == &d.write ? POLLOUT : POLLIN | POLLRDHUP;
  for (;;) {
    if (d.is_closing()) return ready_by::close;
    if (const ready_by ended = check(limits); ended != ready_by::kernel) return ended;
    const std::int64_t left = limits.deadline - os::nanotime();
    if (left <= 0) return ready_by::timeout;
    pollfd one{d.fd(), wanted, 0};
    if (::poll(&one, 1, static_cast<int>((std::min(left, look_each) + ms - 1) / ms)) <= 0) continue;
    inside in;
    ready_batch others;
    note_edge(one.revents & ~(POLLIN | POLLOUT), others);
    ready_all(others);
    return ready_by::kernel;
  }
}

void poll_direction::note_edge(bool more, ready_batch& out) noexcept {
  waiting list(list_);
  list.lock();
  // [order] relaxed: the edge publishes it. release: pairs with edges(); the lock orders both for who queues
  if (more) more_.store(true, relaxed);
  edges_.store(edges_.load(relaxed) + 1, release);
  list.take_all(out);
  list.unlock();
}

void poll_direction::wake_all() noexcept {
  waiting list(list_);
  ready_batch out;
  list.lock();
  list.take_all(out);
  list.unlock();
  ready_all(out);
}

void poll_direction::set_deadline(std::int64_t deadline) noexcept {
  deadline_.store(deadline, release);                // [order] release: pairs with check(); before the lock
  wake_all();
}

void poll_direction::reset() noexcept {              // [order] relaxed: nobody knows it yet
  edges_.store(1, relaxed);
  drained_.store(0, relaxed);
  more_.store(false, relaxed);
  deadline_.store(detail::never, relaxed);
}

// ---- the descriptor ----

std::uint64_t poll_desc::token() const noexcept {
  // [order] relaxed, here and in of(): a late token would do no harm
  return reinterpret_cast<std::uintptr_t>(this) | std::uint64_t{use_.load(relaxed)} << address_bits;
}

poll_desc* poll_desc::of(std::uint64_t token) noexcept {
  auto* d = reinterpret_cast<poll_desc*>(token & ((std::uint64_t{1} << address_bits) - 1));
  // [order] relaxed: as in token()
  return d->use_.load(relaxed) == token >> address_bits ? d : nullptr;
}

void poll_desc::note_event(const backend::event& e, ready_batch& out) noexcept {
  if (e.read) read.note_edge(e.more, out);
  if (e.write) write.note_edge(e.more, out);
}

void poll_desc::begin(int fd, bool watched) noexcept {
  read.reset();
  write.reset();
  fd_ = fd;
  watched_ = watched;
  state_.store(0, release);                          // [order] release: pairs with begin_use()
}

void poll_desc::close() noexcept {
  const int fd = fd_;
  // [order] acq_rel: pairs with begin_use(), and with who waits (he looks under the lock that wake_all takes)
  const std::uint32_t before = state_.fetch_or(closing, acq_rel);
  if (before & closing) return;
  {
    inside in;
    read.wake_all();
    write.wake_all();
  }
  if (before < one_use) finish(fd);
}

// Outside: the last close of a socket may take its time.
void poll_desc::finish(int fd) noexcept {
  sanitizer::hb_acquire(this);
  if (watched_) backend::forget(fd);
  ::close(fd);
  // [order] acq_rel, here and below: whoever is second makes it free
  if (state_.fetch_or(closed, acq_rel) & disowned) recycle();
}

void poll_desc::disown() noexcept {
  if (state_.fetch_or(disowned, acq_rel) & closed) recycle();
}

void poll_desc::recycle() noexcept {
  inside in;
  use_.store(static_cast<std::uint16_t>(use_.load(relaxed) + 1), relaxed);   // [order] as in token()
  give_poll_desc(this);
}

}  // namespace weft::inline v0::rt
