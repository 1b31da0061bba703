// epoll.cpp — the netpoller's backend: one epoll instance for the process, an eventfd to wake who waits in
// it.
//
// Descriptors that Weft owns are added once, edge-triggered. The eventfd is level-triggered: a thread that
// only looks may see it and must leave it for the one that sleeps.
#include <errno.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>
#include <time.h>

#include "netpoll/backend.hpp"
#include "os/linux/syscall.hpp"
#include "os/os.hpp"

namespace weft::inline v0::rt::backend {
namespace {

using os::system_call;

constexpr std::uint64_t wake_token = 0, timer_token = 1;   // no address of a poll_desc

atomic<int> epoll{-1};
int wake_fd = -1, timer_fd = -1;                     // timer_fd: only where the kernel lacks epoll_pwait2
atomic<bool> wake_is_on_its_way{false};

int add(int fd, std::uint32_t events, std::uint64_t token) noexcept {
  epoll_event e{.events = events, .data = {.u64 = token}};
  // [order] relaxed: whoever has a descriptor to add came after start()
  return static_cast<int>(system_call(SYS_epoll_ctl, epoll.load(relaxed), EPOLL_CTL_ADD, fd, &e));
}

timespec to_timespec(std::int64_t ns) noexcept {
  constexpr std::int64_t s = 1'000'000'000;
  return {static_cast<time_t>(ns / s), static_cast<long>(ns % s)};
}

bool has_pwait2(int fd) noexcept {
  epoll_event e;
  const timespec none{};
  return system_call(SYS_epoll_pwait2, fd, &e, 1, &none, nullptr, 0) != -ENOSYS;
}

// Before Linux 5.11: a timer in the set, as epoll_wait counts in milliseconds.
long wait_with_timer(int fd, epoll_event* events, std::int64_t deadline) noexcept {
  if (deadline != now && deadline != os::forever) {
    const itimerspec at{{}, to_timespec(deadline)};
    system_call(SYS_timerfd_settime, timer_fd, TFD_TIMER_ABSTIME, &at, nullptr);
  }
  const int timeout = deadline == now ? 0 : -1;
  return system_call(SYS_epoll_pwait, fd, events, most_events, timeout, nullptr, 0);
}

long wait_in_kernel(int fd, epoll_event* events, std::int64_t deadline) noexcept {
  if (timer_fd >= 0) return wait_with_timer(fd, events, deadline);
  timespec left{};
  if (deadline != now && deadline != os::forever) {
    const std::int64_t ns = deadline - os::nanotime();
    if (ns > 0) left = to_timespec(ns);
  }
  const timespec* timeout = deadline == os::forever ? nullptr : &left;
  return system_call(SYS_epoll_pwait2, fd, events, most_events, timeout, nullptr, 0);
}

void drain(int fd) noexcept {
  std::uint64_t count;
  system_call(SYS_read, fd, &count, sizeof count);
}

}  // namespace

bool is_started() noexcept { return epoll.load(acquire) >= 0; }   // [order] acquire: pairs with start()

int start() noexcept {
  const auto fd = static_cast<int>(system_call(SYS_epoll_create1, EPOLL_CLOEXEC));
  if (fd < 0) return fd;
  const auto wake = static_cast<int>(system_call(SYS_eventfd2, 0, EFD_CLOEXEC | EFD_NONBLOCK));
  long timer = -1;
  if (wake >= 0 && !has_pwait2(fd))
    timer = system_call(SYS_timerfd_create, CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
  const bool wants_timer = wake >= 0 && timer != -1;
  if (wake < 0 || (wants_timer && timer < 0)) {
    if (wake >= 0) system_call(SYS_close, wake);
    system_call(SYS_close, fd);
    return static_cast<int>(wake < 0 ? wake : timer);
  }
  wake_fd = wake;
  timer_fd = static_cast<int>(timer);
  epoll.store(fd, release);                          // [order] release: the other two
  add(wake, EPOLLIN, wake_token);
  if (wants_timer) add(timer_fd, EPOLLIN | EPOLLET, timer_token);
  return 0;
}

int watch(int fd, std::uint64_t token) noexcept {
  return add(fd, EPOLLIN | EPOLLOUT | EPOLLPRI | EPOLLRDHUP | EPOLLET, token);
}

int watch_once(int fd, std::uint64_t token, bool write) noexcept {
  return add(fd, (write ? EPOLLOUT : EPOLLIN | EPOLLRDHUP) | EPOLLONESHOT, token);
}

int watch_ring(int fd) noexcept { return add(fd, EPOLLIN | EPOLLET, ring_token); }

void forget(int fd) noexcept {
  epoll_event unused{};                              // some old kernels want one
  system_call(SYS_epoll_ctl, epoll.load(relaxed), EPOLL_CTL_DEL, fd, &unused);   // [order] as in add()
}

int wait(event (&into)[most_events], std::int64_t deadline) noexcept {
  epoll_event events[most_events];
  const long n = wait_in_kernel(epoll.load(acquire), events, deadline);   // [order] acquire: the other two
  int count = 0;
  for (long i = 0; i < n; ++i) {
    const epoll_event& e = events[i];
    if (e.data.u64 == wake_token) {
      if (deadline == now) continue;
      drain(wake_fd);
      // [order] acq_rel: pairs with wake(), also with one that came too late to write
      wake_is_on_its_way.exchange(false, acq_rel);
    } else if (e.data.u64 != timer_token) {
      const bool broken = e.events & (EPOLLHUP | EPOLLERR);
      const bool more = broken || e.events & (EPOLLPRI | EPOLLRDHUP);
      into[count++] = {e.data.u64, more || e.events & EPOLLIN, broken || e.events & EPOLLOUT, more};
    }
  }
  return count;
}

void wake() noexcept {
  // [order] acq_rel: pairs with wait(); one that finds it set leaves it to the wake that is on its way
  if (wake_is_on_its_way.exchange(true, acq_rel)) return;
  const std::uint64_t one = 1;
  system_call(SYS_write, wake_fd, &one, sizeof one);
}

}  // namespace weft::inline v0::rt::backend
