// processors.cpp — the scheduler at work: who runs what, a million goroutines that start each other, and its
// own view of itself.
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <string>
#include <vector>

#include "tour.hpp"
#include "weft/detail/introspect.hpp"
#include "weft/dump.hpp"
#include "weft/weft.hpp"

namespace tour {

using namespace std::chrono_literals;

namespace {

void work_for(clock::duration d) {
  for (const auto end = clock::now() + d; clock::now() < end;) {
  }
}

// While one exists there are at least two processors, also on a machine with one core.
class at_least_two_processors {
 public:
  at_least_two_processors() : before_(weft::maxprocs()) {
    if (before_ < 2) weft::set_maxprocs(2);
  }
  ~at_least_two_processors() {
    if (before_ < 2) weft::set_maxprocs(before_);
  }

 private:
  int before_;
};

}  // namespace

// Few enough to fit into one processor's queue of 256: what runs elsewhere has been stolen.
void stealing() {
  constexpr int jobs = 200;
  constexpr auto job_length = 2ms;
  const at_least_two_processors guard;
  const auto processors = static_cast<std::size_t>(weft::maxprocs());
  const int home = weft::detail::processor_id();
  say("%d jobs of %d ms of computing are put into the queue of processor %d.", jobs,
      static_cast<int>(job_length / 1ms), home);

  std::vector<std::atomic<int>> done_by(processors);
  weft::wait_group all_done;
  all_done.add(jobs);
  const auto start = clock::now();
  for (int i = 0; i < jobs; ++i)
    weft::go([&] {
      work_for(job_length);
      done_by[static_cast<std::size_t>(weft::detail::processor_id())].fetch_add(1);
      all_done.done();
    });
  all_done.wait();
  const auto took = clock::now() - start;

  int elsewhere = 0;
  std::string counts;
  for (std::size_t p = 0; p < processors; ++p) {
    const int done = done_by[p].load();
    if (static_cast<int>(p) != home) elsewhere += done;
    if (done != 0) counts += "  P" + std::to_string(p) + " " + std::to_string(done);
  }
  say("done by%s", counts.c_str());
  check(elsewhere > 0, "%d of them were stolen by the others; all done after %.2f s instead of %.2f s",
        elsewhere, seconds(took), seconds(job_length) * jobs);
}

namespace {

void node(const weft::chan<long>& up, long number, long size) {
  constexpr long children = 10;
  if (size == 1) {
    up.send(number);
    return;
  }
  auto results = weft::make_chan<long>();
  const long part = size / children;
  for (long i = 0; i < children; ++i) weft::go(node, results, number + i * part, part);
  long sum = 0;
  for (long i = 0; i < children; ++i) sum += *results.recv();
  up.send(sum);
}

}  // namespace

void skynet() {
  say("Every goroutine starts ten more, six levels deep; the leaves send their numbers up, and all add up.");
  constexpr long goroutines = 1'111'111, expected = 499'999'500'000;
  const auto start = clock::now();
  auto result = weft::make_chan<long>();
  weft::go(node, result, 0L, 1'000'000L);
  const long sum = *result.recv();
  const auto took = clock::now() - start;
  check(sum == expected, "%s goroutines, sum %ld, %.2f s: %.0f ns each", grouped(goroutines).c_str(), sum,
        seconds(took), nanoseconds_each(took, goroutines));
}

// The line that WEFTDEBUG=schedtrace=MS prints on standard error, caught in a file in memory.
void schedtrace() {
  say("While 40 goroutines compute and yield, the main one asks for the line of WEFTDEBUG=schedtrace:");
  std::atomic<bool> stop{false};
  weft::wait_group workers;
  for (int i = 0; i < 40; ++i)
    workers.go([&] {
      while (!stop.load(std::memory_order_relaxed)) {
        work_for(50us);
        weft::this_goroutine::yield();
      }
    });
  weft::this_goroutine::sleep_for(50ms);
  const int file = memfd_create("schedtrace", MFD_CLOEXEC);
  weft::print_schedtrace(file);
  stop = true;
  workers.wait();

  std::string line(4096, '\0');
  const ssize_t length = pread(file, line.data(), line.size(), 0);
  close(file);
  line.resize(static_cast<std::size_t>(std::max<ssize_t>(length, 0)));
  line.erase(line.find_last_not_of('\n') + 1);
  say("%s", line.c_str());
  const bool counts_processors = line.find("gomaxprocs=" + std::to_string(weft::maxprocs())) != line.npos;
  check(line.starts_with("SCHED ") && counts_processors, "processors, threads and queues as Go prints them");
}

}  // namespace tour
