// signals.cpp — weft::signals: the handler writes the number into the pipes of all who want the signal.
//
// I1  a slot of the table names the write end of a pipe, or is empty; changed under the lock, read by
// handlers I2  a pipe is closed only when no handler that may have read its slot still runs
#include "weft/signals.hpp"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include "net/io.hpp"
#include "os/linux/syscall.hpp"
#include "os/os.hpp"
#include "sched/inside.hpp"
#include "weft/go.hpp"

namespace weft::inline v0 {

using namespace rt;

namespace {

constexpr int highest = 64, most_listeners = 16, empty = 0;

struct signal_state {
  atomic<int> listeners[most_listeners] = {};        // write ends + 1
  int count = 0;                                     // under lock
  struct sigaction before;                           // under lock; while count is not 0
};
constinit signal_state table[highest + 1];
constinit ranked_lock<lock_rank::leaf> lock;
constinit atomic<std::uint32_t> handlers{0};         // that run just now

void on_signal(int number) noexcept {
  const int error = errno;
  // [order] seq_cst, here and in leave_table(): either it sees us, or we see the empty slot
  handlers.fetch_add(1, seq_cst);
  for (atomic<int>& slot : table[number].listeners)
    if (const int end = slot.load(seq_cst); end != empty) {
      const auto byte = static_cast<unsigned char>(number);
      os::system_call(SYS_write, end - 1, &byte, 1);   // full: it is lost
    }
  handlers.fetch_sub(1, seq_cst);
  errno = error;
}

bool can_be_had(int number) noexcept {
  constexpr int first_realtime_of_libc = 32, last_realtime_of_libc = 33;
  if (number < 1 || number > highest) return false;
  if (number >= first_realtime_of_libc && number <= last_realtime_of_libc) return false;
  for (int no : {SIGKILL, SIGSTOP, SIGURG, SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT})
    if (number == no) return false;
  return true;
}

// False: too many want it.
bool enter_table(int number, int end) noexcept {
  inside in;
  locked hold(lock);
  signal_state& s = table[number];
  if (s.count == most_listeners) return false;
  for (atomic<int>& slot : s.listeners)
    if (slot.load(relaxed) == empty) {               // [order] relaxed: under the lock
      slot.store(end + 1, seq_cst);
      break;
    }
  if (s.count++ > 0) return true;
  struct sigaction action {};
  action.sa_handler = on_signal;
  action.sa_flags = SA_RESTART | SA_ONSTACK;
  ::sigaction(number, &action, &s.before);
  return true;
}

void leave_table(int number, int end) noexcept {
  inside in;
  locked hold(lock);
  signal_state& s = table[number];
  for (atomic<int>& slot : s.listeners)
    if (slot.load(relaxed) == end + 1) slot.store(empty, seq_cst);   // [order] relaxed: under the lock
  if (--s.count == 0) ::sigaction(number, &s.before, nullptr);
}

}  // namespace

signals::signals(std::initializer_list<int> numbers) {
  for (int number : numbers)
    if (!can_be_had(number))
      throw std::system_error(std::make_error_code(std::errc::invalid_argument), "signals");
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC | O_NONBLOCK) < 0) throw std::system_error(last_error(), "signals");
  write_end_ = ends[1];
  try {
    came_ = std::make_shared<fd>(ends[0]);
  } catch (...) {
    ::close(ends[0]);
    ::close(ends[1]);
    throw;
  }
  for (int number : numbers) {
    if (wanted_.test(static_cast<std::size_t>(number))) continue;
    if (!enter_table(number, write_end_)) {
      unsubscribe();
      throw std::system_error(std::make_error_code(std::errc::too_many_files_open), "signals");
    }
    wanted_.set(static_cast<std::size_t>(number));
  }
}

signals::~signals() {
  came_->close();                                    // a channel's goroutine ends
  unsubscribe();
}

void signals::unsubscribe() noexcept {
  for (int number = 1; number <= highest; ++number)
    if (wanted_.test(static_cast<std::size_t>(number))) leave_table(number, write_end_);
  while (handlers.load(seq_cst) != 0) os::yield_thread();   // I2
  ::close(write_end_);
}

int signals::wait(std::stop_token stop) {
  std::byte number;
  came_->read_exact({&number, 1}, std::move(stop));
  return static_cast<int>(number);
}

chan<int> signals::channel() {
  auto out = make_chan<int>(1);
  go([came = came_, out] {
    std::byte number;
    std::error_code ec;
    while (came->read_some({&number, 1}, ec) == 1) out.send(static_cast<int>(number));
    out.close();
  });
  return out;
}

}  // namespace weft::inline v0
