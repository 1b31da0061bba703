// global_queue.hpp — the queue of all Ps, and of threads without one: a FIFO of arrays of goroutines.
//
//   front_ ──> chunk ──> chunk ──> ... ──> back_  ──>  rest_ (a list, empty but when memory has run out)
//              gs[begin, end)
//
// It does not touch the goroutines. Linked through their blocks, 128 of them that another core has run would
// be 128 cache misses, each waiting for the one before, under the scheduler's lock; out of an array they are
// fetched all at once, and after the lock (find_runnable.cpp).
//
// A goroutine that is bound to its thread and waits there (claim.cpp) has a place in the order, but stands in
// a list of its own with the number of that place: it can also be taken out of turn (take_thread).
//
// I1  no chunk in the list is empty; rest_ comes behind all chunks
// I2  a thread leaves alone: in a batch, it would come into a ring, where take_thread() does not see it
// I3  chunks are never given back to the kernel: 8 bytes for each goroutine ever queued at once
// Used under sched.lock, but for size().
#pragma once
#include "base/intrusive.hpp"
#include "sched/goroutine.hpp"

namespace weft::inline v0::rt {

using goroutine_list = fifo<goroutine, &goroutine::link>;
struct machine;

class global_queue {
 public:
  // [order] relaxed: exact under the lock only
  std::uint32_t size() const noexcept { return size_.load(relaxed); }
  void push_back(goroutine* gp) noexcept { push_back(&gp, 1); }
  void push_back(goroutine* const* gs, std::uint32_t n) noexcept;
  void push_front(goroutine* const* gs, std::uint32_t n) noexcept;     // gs[0] becomes the first
  // At most n of the longest waiting, in order; fewer where a thread is among them (I2). How many.
  // `cpu`: of the caller, who sleeps next if it is a thread. One that stood elsewhere is left to somebody
  // there, eight times or until some 512 have gone before it, as long as there are others to take. Also if
  // there are none by who will come `again` before he is idle.
  std::uint32_t take(goroutine** into, std::uint32_t n, std::int32_t cpu = -1, bool again = false) noexcept;
  void clear() noexcept;

  void push_thread(machine* mp) noexcept;                              // its current goroutine waits for a P
  machine* take_thread_if(bool (*)(machine*) noexcept) noexcept;       // the longest waiting of those
  // The longest waiting one, but rather one that stood on this CPU: where it stood the kernel wakes it, and
  // another CPU may be busy with another M for a tick. Null: none waits.
  goroutine* take_thread(std::int32_t cpu = -1) noexcept;
  bool remove_thread(machine* mp) noexcept;                            // this one, if it is there
  // [order] relaxed: exact under the lock only
  std::uint32_t threads() const noexcept { return thread_count_.load(relaxed); }

 private:
  struct chunk {
    static constexpr std::uint32_t capacity = 126;                     // 1 KiB in all
    chunk* next = nullptr;
    std::uint32_t begin = 0, end = 0;
    goroutine* gs[capacity];
  };
  struct thread_place {
    machine* before = nullptr;                                         // in the list; null: the first
    bool found = false;
  };
  chunk* new_chunk() noexcept;                                         // null: no memory
  void drop_front() noexcept;
  std::uint32_t take_plain(goroutine** into, std::uint32_t n) noexcept;
  bool may_pass_by_first(std::int32_t cpu) const noexcept;
  thread_place some_stood_on(std::int32_t cpu) const noexcept;
  machine* unlink_thread(machine* before) noexcept;
  bool put_back(goroutine* gp) noexcept;
  bool put_front(goroutine* gp) noexcept;
  void add(std::uint32_t n) noexcept { size_.store(size_.load(relaxed) + n, relaxed); }   // [order] as size()

  chunk* front_ = nullptr;
  chunk* back_ = nullptr;
  stack_list<chunk, &chunk::next> free_;
  goroutine_list rest_;
  atomic<std::uint32_t> size_{0};
  machine* first_thread_ = nullptr;
  machine* last_thread_ = nullptr;
  atomic<std::uint32_t> thread_count_{0};                              // in size_, too
  std::uint64_t pushed_ = 0, taken_ = 0;                               // places in the chunks, ever
};

}  // namespace weft::inline v0::rt
