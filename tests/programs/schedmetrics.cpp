// schedmetrics.cpp — what schedtrace with details says about how many goroutines compute, wait, or are in a
// call without a processor. Prints OK. Run by tests/conformance/schedtrace_test.cpp.
//
// The main goroutine has it written into a file and reads that, so what it sees belongs to a moment at which
// it was running itself.
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <set>
#include <string>

#include "observe/schedtrace.hpp"
#include "sched/inside.hpp"
#include "weft/chan.hpp"
#include "weft/go.hpp"
#include "weft/runtime.hpp"
#include "weft/this_goroutine.hpp"
#include "weft/wait_group.hpp"

namespace {

using namespace std::chrono_literals;
namespace self = weft::this_goroutine;

constexpr int count = 10, slack = 4;

// Under TSan who computes is not interrupted: its P is taken, and goes on with one thread more.
#if defined(__SANITIZE_THREAD__) || defined(WEFT_TSAN)
constexpr bool signals_come = false;
#else
constexpr bool signals_come = true;
#endif

struct sample {
  int gomaxprocs = 0, idleprocs = 0, threads = 0, queued = 0;
  int running = 0, runnable = 0, waiting = 0, no_processor = 0, all = 0;   // goroutines
};

void give_up(const char* what, const char* why, const sample& s, const std::string& text) {
  std::fprintf(stderr,
               "schedmetrics: %s: %s: gomaxprocs=%d idleprocs=%d threads=%d queued=%d running=%d runnable=%d "
               "waiting=%d no_processor=%d all=%d\n%s",
               what, why, s.gomaxprocs, s.idleprocs, s.threads, s.queued, s.running, s.runnable, s.waiting,
               s.no_processor, s.all, text.c_str());
  std::_Exit(1);
}

std::string trace() {
  static const int file = memfd_create("schedtrace", MFD_CLOEXEC);
  const int kept = dup(2);
  if (ftruncate(file, 0) != 0 || lseek(file, 0, SEEK_SET) != 0 || dup2(file, 2) != 2) std::abort();
  {
    weft::rt::inside here;   // keeps the processor, so no other goroutine takes its place meanwhile
    weft::rt::print_schedtrace(true);
  }
  dup2(kept, 2);
  close(kept);
  std::string text(static_cast<std::size_t>(lseek(file, 0, SEEK_END)), 0);
  if (pread(file, text.data(), text.size(), 0) != static_cast<ssize_t>(text.size())) std::abort();
  return text;
}

// In a call, or on the way out of one: running, on an M that has no P.
sample read(const std::string& text) {
  enum { runnable = 1, running = 2, waiting = 4 };
  sample s;
  std::set<int> with_processor;
  for (std::size_t at = 0, end; (end = text.find('\n', at)) != text.npos; at = end + 1) {
    const std::string line = text.substr(at, end - at);
    int p, m, status, queued, runqueue;
    char rest[100];
    if (std::sscanf(line.c_str(),
                    "SCHED %*dms: gomaxprocs=%d idleprocs=%d threads=%d %*s %*s %*s runqueue=%d",
                    &s.gomaxprocs, &s.idleprocs, &s.threads, &runqueue) == 4)
      s.queued += runqueue;
    else if (std::sscanf(line.c_str(), "  P%*d: status=%*d schedtick=%*d syscalltick=0 %*s runqsize=%d",
                         &queued) == 1)
      s.queued += queued;
    else if (std::sscanf(line.c_str(), "  M%d: p=%d", &m, &p) == 2)
      with_processor.insert(m);
    else if (std::sscanf(line.c_str(), "  G%*d: status=%d(%99[^\n]", &status, rest) == 2) {
      ++s.all;
      s.runnable += status == runnable;
      s.waiting += status == waiting;
      const char* where = std::strstr(rest, ") m=");
      if (status != running || where == nullptr) continue;
      const bool has_one = std::sscanf(where, ") m=%d", &m) == 1 && with_processor.contains(m);
      ++(has_one ? s.running : s.no_processor);
    }
  }
  return s;
}

// Asks until `good` says so; then the bounds must hold.
template <class Good, class Bounds>
void check(const char* what, Good good, Bounds bounds) {
  const auto deadline = std::chrono::steady_clock::now() + 50s;
  for (;; self::sleep_for(5ms)) {
    const std::string text = trace();
    const sample s = read(text);
    if (good(s)) {
      if (!bounds(s)) give_up(what, "out of bounds", s, text);
      return;
    }
    if (std::chrono::steady_clock::now() > deadline) give_up(what, "never came", s, text);
  }
}

bool is_between(int n, int least, int most) { return least <= n && n <= most; }
bool always(const sample&) { return true; }

void metrics() {
  const int initial = weft::maxprocs();
  const int threads_slack = 5 + initial + (signals_come ? 0 : count);

  weft::set_maxprocs(1);
  check("base", always, [](const sample& s) {
    return s.gomaxprocs == 1 && s.running == 1 && s.no_processor <= slack && s.runnable <= slack &&
           s.waiting <= slack;
  });
  weft::set_maxprocs(initial);

  // Also for "runnable".
  const int before = read(trace()).all;
  std::atomic<int> ready{0};
  std::atomic<bool> over{false};
  weft::wait_group spinners;
  for (int i = 0; i < count; ++i)
    spinners.go([&] {
      ++ready;
      while (!over) {
        const auto end = std::chrono::steady_clock::now() + 10ms;
        while (std::chrono::steady_clock::now() < end && !over) continue;
        self::yield();
      }
    });
  while (ready < count) self::yield();
  check("created", always, [=](const sample& s) { return s.all == before + count; });

  weft::set_maxprocs(count + 4);
  check("running", [](const sample& s) { return s.running >= count; },
        [=](const sample& s) {
          return is_between(s.running, count, count + 4) && s.idleprocs <= 4 && s.gomaxprocs == count + 4 &&
                 is_between(s.threads, count, count + 4 + threads_slack);
        });
  weft::set_maxprocs(1);   // who computes runs on without a processor, to its next call of ours
  check("runnable", [](const sample& s) { return s.runnable >= count - 1; },
        [](const sample& s) {
          return s.running == 1 && is_between(s.runnable, count - 1, count + slack) &&
                 is_between(s.queued, count - 2, count + slack);   // one may be in the P's run_next
        });
  weft::set_maxprocs(initial);
  over = true;
  spinners.wait();

  int ends[2];
  if (pipe(ends) != 0) std::abort();
  weft::wait_group readers;
  for (int i = 0; i < count; ++i)
    readers.go([=] {
      char c;
      if (::read(ends[0], &c, 1) != 0) std::abort();
    });
  check("not in go", [](const sample& s) { return s.no_processor >= count; },
        [](const sample& s) { return s.no_processor <= count + slack; });
  close(ends[1]);
  readers.wait();
  close(ends[0]);

  constexpr int waiters = 1000;
  auto stop = weft::make_chan<bool>();
  weft::wait_group all;
  for (int i = 0; i < waiters; ++i) all.go([=] { stop.recv(); });
  check("waiting", [](const sample& s) { return s.waiting >= waiters; },
        [](const sample& s) { return s.waiting <= waiters + slack; });
  stop.close();
  all.wait();
}

}  // namespace

int main() {
  weft::run(metrics);
  std::puts("OK");
}
