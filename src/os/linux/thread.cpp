// thread.cpp — starting threads and naming them.
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>

#include <algorithm>
#include <new>

#include "os/linux/syscall.hpp"
#include "os/os.hpp"

namespace weft::inline v0::rt::os {
namespace {

// What a new thread must be told. It travels in a page of its own, so that nothing here waits for the thread.
struct start_block {
  void (*body)(void*);
  void* arg;
  char name[16];
};

void* thread_main(void* p) {
  start_block start = *static_cast<start_block*>(p);
  free_pages(p, sizeof(start_block));
  name_thread(start.name);
  start.body(start.arg);
  return nullptr;
}

// The kernel's struct sched_attr, as far as it goes; <linux/sched/types.h> cannot be had beside <sched.h>.
struct scheduling {
  std::uint32_t size, policy;
  std::uint64_t flags;
  std::int32_t nice;
  std::uint32_t priority;
  std::uint64_t slice, deadline, period;             // ns
};

// Room for the scheduler's own frames; pages nobody touches cost address space only. glibc takes the
// thread-local storage of all libraries out of it too, hence the growing.
constexpr std::size_t first_stack_size = 256 * 1024;
constexpr std::size_t last_stack_size = 64 * 1024 * 1024;

int create(start_block* start) noexcept {
  pthread_attr_t attributes;
  if (int error = pthread_attr_init(&attributes)) return error;
  pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
  int error = EINVAL;
  for (std::size_t size = first_stack_size; error == EINVAL && size <= last_stack_size; size *= 2) {
    pthread_attr_setstacksize(&attributes, size);
    pthread_t thread;
    error = pthread_create(&thread, &attributes, thread_main, start);
  }
  pthread_attr_destroy(&attributes);
  return error;
}

}  // namespace

std::int32_t thread_id() noexcept { return static_cast<std::int32_t>(system_call(SYS_gettid)); }

std::int32_t current_cpu() noexcept {
  unsigned cpu = 0;
  return system_call(SYS_getcpu, &cpu, nullptr, nullptr) == 0 ? static_cast<std::int32_t>(cpu) : -1;
}

bool thread_exists(std::int32_t id) noexcept {
  return system_call(SYS_tgkill, system_call(SYS_getpid), id, 0) == 0;
}

void ask_for_short_slice(std::uint64_t ns) noexcept {
  scheduling attributes{};
  if (system_call(SYS_sched_getattr, 0, &attributes, sizeof attributes, 0) != 0) return;
  if (attributes.policy != SCHED_OTHER) return;
  attributes.slice = ns;
  system_call(SYS_sched_setattr, 0, &attributes, 0);
}

void yield_thread() noexcept { system_call(SYS_sched_yield); }

void name_thread(const char* name) noexcept {
  char text[16] = {};
  memcpy(text, name, std::min(strlen(name), sizeof text - 1));
  system_call(SYS_prctl, PR_SET_NAME, text);
}

int start_thread(const char* name, void (*body)(void*), void* arg, bool block_signals) noexcept {
  void* page = allocate_pages(sizeof(start_block));
  if (!page) return -ENOMEM;
  start_block block{body, arg, {}};
  memcpy(block.name, name, std::min(strlen(name), sizeof block.name - 1));
  auto* start = new (page) start_block(block);   // TSan must see no call: the page was another's

  // The mask is inherited, so it is set here for the moment of the creation: no signal comes too early.
  sigset_t all, before;
  sigfillset(&all);
  if (block_signals) pthread_sigmask(SIG_SETMASK, &all, &before);
  int error = create(start);
  if (block_signals) pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (error) free_pages(page, sizeof(start_block));
  return -error;
}

}  // namespace weft::inline v0::rt::os
