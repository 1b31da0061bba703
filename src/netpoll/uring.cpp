// uring.cpp — see uring.hpp.
//
//   the goroutine                                     the poller
//   a place in the ring, under its lock; publish      the kernel: done; tells by the ring's own descriptor
//   io_uring_enter, outside: it may touch memory      result; done = exchange(state)
//   park; the commit: parked = exchange(state)        who was parked is ready
//
// Of the two exchanges the second makes it runnable, so it may be done before it is parked. io_uring_enter
// submits whatever is published: nobody waits for somebody who has been stopped between his two steps.
#include "netpoll/uring.hpp"

#include <errno.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstddef>

#include "netpoll/backend.hpp"
#include "netpoll/netpoll.hpp"
#include "os/linux/syscall.hpp"
#include "os/os.hpp"
#include "sched/inside.hpp"

namespace weft::inline v0::rt {
namespace {

using os::system_call;
using kernel_word = atomic<std::uint32_t>;

constexpr std::uint32_t entries = 256, completions = 4096;
constexpr std::uint32_t most_workers = 2;   // kernel threads, for what cannot be done without waiting

enum class call_state : std::uint8_t { begun, parked, done };

struct call {                                        // on the goroutine's stack
  goroutine* gp;
  std::int32_t result = 0;
  atomic<call_state> state{call_state::begun};
};

struct ring {
  int fd = -1;
  ranked_lock<lock_rank::leaf> submit, complete;
  const kernel_word* sq_head = nullptr;
  kernel_word* sq_tail = nullptr;
  std::uint32_t sq_mask = 0;
  io_uring_sqe* sqes = nullptr;
  kernel_word* cq_head = nullptr;
  const kernel_word* cq_tail = nullptr;
  std::uint32_t cq_mask = 0;
  const io_uring_cqe* cqes = nullptr;
};
constinit ring the_ring;

void* map(int fd, std::size_t bytes, std::uint64_t offset) noexcept {
  const long p =
      system_call(SYS_mmap, nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, fd, offset);
  return p < 0 && p > -4096 ? nullptr : reinterpret_cast<void*>(p);
}

// False: not here. What was mapped stays, once in a process's life.
bool map_rings(ring& r, const io_uring_params& p) noexcept {
  if (!(p.features & IORING_FEAT_SINGLE_MMAP)) return false;
  const std::size_t sq = p.sq_off.array + p.sq_entries * sizeof(std::uint32_t);
  const std::size_t cq = p.cq_off.cqes + p.cq_entries * sizeof(io_uring_cqe);
  auto* base = static_cast<std::byte*>(map(r.fd, std::max(sq, cq), IORING_OFF_SQ_RING));
  r.sqes = static_cast<io_uring_sqe*>(map(r.fd, p.sq_entries * sizeof(io_uring_sqe), IORING_OFF_SQES));
  if (base == nullptr || r.sqes == nullptr) return false;
  const auto word = [base](std::uint32_t offset) { return reinterpret_cast<kernel_word*>(base + offset); };
  r.sq_head = word(p.sq_off.head);
  r.sq_tail = word(p.sq_off.tail);
  r.sq_mask = p.sq_entries - 1;
  r.cq_head = word(p.cq_off.head);
  r.cq_tail = word(p.cq_off.tail);
  r.cq_mask = p.cq_entries - 1;
  r.cqes = reinterpret_cast<const io_uring_cqe*>(base + p.cq_off.cqes);
  for (std::uint32_t i = 0; i < p.sq_entries; ++i)   // entry i is always at place i
    word(p.sq_off.array)[i].store(i, relaxed);       // [order] relaxed: the tail publishes it
  return true;
}

bool start_ring() noexcept {
  if (sanitizer::thread || netpoll_start() < 0) return false;   // TSan does not see what the kernel writes
  io_uring_params p{};
  p.flags = IORING_SETUP_CQSIZE | IORING_SETUP_CLAMP;
  p.cq_entries = completions;
  the_ring.fd = static_cast<int>(system_call(SYS_io_uring_setup, entries, &p));
  if (the_ring.fd < 0) return false;
  const std::uint32_t workers[2] = {most_workers, most_workers};
  system_call(SYS_io_uring_register, the_ring.fd, IORING_REGISTER_IOWQ_MAX_WORKERS, workers, 2);
  if (map_rings(the_ring, p) && backend::watch_ring(the_ring.fd) == 0) return true;
  system_call(SYS_close, the_ring.fd);
  return false;
}

// Under lock: false: it is full.
bool publish(const io_uring_sqe& what, call& c) noexcept {
  inside in;
  locked hold(the_ring.submit);
  const std::uint32_t tail = the_ring.sq_tail->load(relaxed);   // [order] relaxed: written under the lock
  // [order] acquire: the kernel has read the entry
  if (tail - the_ring.sq_head->load(acquire) > the_ring.sq_mask) return false;
  io_uring_sqe& entry = the_ring.sqes[tail & the_ring.sq_mask];
  entry = what;
  entry.user_data = reinterpret_cast<std::uintptr_t>(&c);
  the_ring.sq_tail->store(tail + 1, release);        // [order] release: the entry, for the kernel
  return true;
}

void commit_call(void* arg) noexcept {
  auto* c = static_cast<call*>(arg);
  goroutine* gp = c->gp;                             // if it was done before, nobody else touches the call
  // [order] acq_rel: one side is second, and has what the other one wrote
  if (c->state.exchange(call_state::parked, acq_rel) == call_state::done) ready(gp);
}

}  // namespace

bool uring_works() noexcept {
  static const bool works = start_ring();
  return works;
}

bool uring_call(const io_uring_sqe& what, std::int32_t& result) {
  if (!uring_works()) return false;
  call c{current()};
  if (!publish(what, c)) return false;
  // Busy, or interrupted: it stays published, and whoever comes next submits it; nobody may come.
  while (system_call(SYS_io_uring_enter, the_ring.fd, entries, 0, 0, nullptr, 0) < 0) os::yield_thread();
  inside_parking in;
  // [order] acquire: pairs with uring_harvest()
  if (c.state.load(acquire) != call_state::done) {
    netpoll_count(1);
    park(wait_reason::io_wait, commit_call, &c);
    netpoll_count(-1);
  }
  result = c.result;
  return true;
}

void uring_harvest(ready_batch& out) noexcept {
  locked hold(the_ring.complete);
  std::uint32_t head = the_ring.cq_head->load(relaxed);   // [order] relaxed: written under the lock
  // [order] acquire: the completions, from the kernel
  for (; head != the_ring.cq_tail->load(acquire); ++head) {
    const io_uring_cqe& cqe = the_ring.cqes[head & the_ring.cq_mask];
    auto* c = reinterpret_cast<call*>(static_cast<std::uintptr_t>(cqe.user_data));
    goroutine* gp = c->gp;
    c->result = cqe.res;
    // [order] acq_rel: as in commit_call(). Of a finished world: ready_all() leaves it alone
    if (c->state.exchange(call_state::done, acq_rel) == call_state::parked) out.add(gp);
  }
  the_ring.cq_head->store(head, release);            // [order] release: the kernel may use the places again
}

}  // namespace weft::inline v0::rt
