// os.hpp — everything the runtime asks of the kernel. Implemented in os/linux/, one family a file.
//
// Contract for all of it unless a line says otherwise: an inline system call (no PLT, no errno, no libc
// lock), so it may be called inside the runtime, on sysmon and in a signal handler. Errors come back as
// negative errno values. Times are nanoseconds of CLOCK_MONOTONIC.
#pragma once
#include <cstddef>
#include <cstdint>

#include "base/atomic.hpp"

namespace weft::inline v0::rt::os {

// ---- time (clock.cpp) ----
std::int64_t nanotime() noexcept;                       // vDSO; about 28 ns
inline constexpr std::int64_t forever = INT64_MAX;

// ---- futex (futex.cpp); all private to the process ----
// Sleeps while *word == expected, at most until `deadline` (absolute). 0 when woken, -EAGAIN when the word
// differed, -EINTR after a signal, -ETIMEDOUT.
int futex_wait(const atomic<std::uint32_t>* word, std::uint32_t expected,
               std::int64_t deadline = forever) noexcept;
int futex_wake(const atomic<std::uint32_t>* word, int count) noexcept;   // returns how many were woken

// ---- memory (memory.cpp) ----
std::size_t page_size() noexcept;                       // read once
void* reserve(std::size_t bytes) noexcept;              // PROT_NONE address space; nullptr: none left
bool commit(void* p, std::size_t bytes) noexcept;       // read-write; false: the kernel refuses
void* allocate_pages(std::size_t bytes) noexcept;       // reserve + commit, zeroed; nullptr when refused
// mremap, may move; nullptr: refused, p stays.
void* grow_pages(void* p, std::size_t old_bytes, std::size_t new_bytes) noexcept;
void free_pages(void* p, std::size_t bytes) noexcept;
void give_back(void* p, std::size_t bytes) noexcept;    // MADV_DONTNEED: reads as zero afterwards
void advise_huge(void* p, std::size_t bytes, bool huge) noexcept;

// ---- threads (thread.cpp) ----
std::int32_t thread_id() noexcept;                      // gettid
std::int32_t current_cpu() noexcept;                    // of the calling thread, just now; negative: unknown
void set_timer_slack(std::uint64_t ns) noexcept;        // of the calling thread
// The calling thread runs for short times and wants to run soon, also beside threads that compute. Linux 6.12
// and later; does nothing elsewhere. Needs no privilege: who asks for less gets it earlier.
void ask_for_short_slice(std::uint64_t ns) noexcept;
void yield_thread() noexcept;                           // sched_yield
void sleep_ns(std::int64_t ns) noexcept;                // of the thread; resumes after EINTR
// pthread_create with a stack of our own, all signals blocked if `block_signals`. Takes libc's locks: the
// template thread only (src/sched/threads.hpp), or a thread outside the runtime. 0 or a negative errno.
int start_thread(const char* name, void (*body)(void*), void* arg, bool block_signals) noexcept;
void name_thread(const char* name) noexcept;            // of the calling thread, at most 15 bytes
std::int64_t thread_cpu_time(std::int32_t thread_id) noexcept;   // of one of this process; negative: gone
int count_threads() noexcept;                           // tasks of this process; negative without /proc
bool thread_exists(std::int32_t thread_id) noexcept;    // in this process
// What a thread of this process is blocked in: the number of a system call, or one of these.
// not_blocked: it runs, or waits for a CPU. blocked_unknown: in what, the kernel does not say. state_unknown:
// not even whether; there is no /proc, or no file descriptor left.
enum : long { blocked_in_fault = -1, not_blocked = -2, blocked_unknown = -3, state_unknown = -4 };
// `pc`, if given, gets where in user code, or null when the kernel does not say.
long blocked_in(std::int32_t thread_id, const void** pc = nullptr) noexcept;
const char* call_name(long call) noexcept;                   // of the usual ones that block; or null
bool is_wait_for_lock(long call) noexcept;                   // a futex, perhaps: its holder must go on
inline bool thread_is_running(std::int32_t id) noexcept { return blocked_in(id) == not_blocked; }
std::size_t stack_limit() noexcept;                     // `ulimit -s` in bytes; 0: unlimited

// ---- the signal that ends a slice: SIGURG (signal.cpp) ----
// Outside. A handler that was there before still gets every SIGURG that is not ours.
// `context` is the interrupted thread's ucontext_t.
enum class interrupt_for { slice, stack };                   // its slice is over; a dump wants its stack
void install_interrupt(void (*on_interrupt)(interrupt_for, const void* context) noexcept) noexcept;
bool interrupt_thread(std::int32_t thread_id, interrupt_for what = interrupt_for::slice) noexcept;
                                                             // false: it is gone, or too many signals wait
bool blocks_interrupts(std::int32_t thread_id) noexcept;     // false also where /proc does not tell

// Outside. A write that nobody will read is an error (EPIPE), and no SIGPIPE, unless the program has a
// handler.
void outlive_broken_pipes() noexcept;

// ---- processors (cpu_count.cpp, cgroup.cpp); read files: outside the runtime or on the helper thread ----
int affinity_cpus() noexcept;                           // CPUs in the mask of this process, at least 1
int cpus_at_first() noexcept;                           // affinity_cpus() at the first call; anywhere
inline bool several_cpus() noexcept { return cpus_at_first() > 1; }
// How many processors to run by default, at least 1: the CPUs of the affinity mask, fewer by cgroups.
int default_maxprocs(bool respect_cgroups = true) noexcept;

// ---- text (write.cpp) ----
void write_all(int fd, const char* text, std::size_t n) noexcept;   // resumes after EINTR and short writes
[[noreturn]] void exit_process(int status) noexcept;    // exit_group: no destructors, no atexit

}  // namespace weft::inline v0::rt::os
