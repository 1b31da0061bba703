// process.cpp — weft::process: posix_spawn, a pidfd that the poller watches, pipes.
#include "weft/process.hpp"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <utility>

#include "net/io.hpp"

namespace weft::inline v0 {

using namespace rt;

namespace {

[[noreturn]] void fail(int error, const std::string& what) {
  throw std::system_error(error, std::system_category(), what);
}

class own_fd {
 public:
  explicit own_fd(int number = -1) noexcept : number_(number) {}
  own_fd(own_fd&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  own_fd& operator=(own_fd&& other) noexcept {
    std::swap(number_, other.number_);
    return *this;
  }
  ~own_fd() {
    if (number_ >= 0) ::close(number_);
  }
  int get() const noexcept { return number_; }
  int release() noexcept { return std::exchange(number_, -1); }

 private:
  int number_;
};

struct pipe_ends {
  own_fd read, write;
};

pipe_ends make_pipe() {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) < 0) fail(errno, "pipe");
  return {own_fd(ends[0]), own_fd(ends[1])};
}

// What posix_spawn wants; its functions return errors.
class plan {
 public:
  plan() {
    posix_spawn_file_actions_init(&actions_);
    posix_spawnattr_init(&attributes_);
    sigset_t all, none;
    sigfillset(&all);
    sigemptyset(&none);
    posix_spawnattr_setsigdefault(&attributes_, &all);
    posix_spawnattr_setsigmask(&attributes_, &none);
    posix_spawnattr_setflags(&attributes_, POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK);
  }
  ~plan() {
    posix_spawn_file_actions_destroy(&actions_);
    posix_spawnattr_destroy(&attributes_);
  }
  plan(const plan&) = delete;
  plan& operator=(const plan&) = delete;

  // Ours that speaks with its `number`; not open: there is no pipe.
  own_fd set_up(int number, child_stream kind) {
    switch (kind) {
      case child_stream::inherit: break;
      case child_stream::null:
        check(posix_spawn_file_actions_addopen(&actions_, number, "/dev/null", O_RDWR, 0));
        break;
      case child_stream::to_out:
        check(posix_spawn_file_actions_adddup2(&actions_, STDOUT_FILENO, number));
        break;
      case child_stream::pipe: {
        pipe_ends ends = make_pipe();
        own_fd& its = number == STDIN_FILENO ? ends.read : ends.write;
        check(posix_spawn_file_actions_adddup2(&actions_, its.get(), number));
        its_ends_[static_cast<std::size_t>(number)] = std::move(its);
        return std::move(number == STDIN_FILENO ? ends.write : ends.read);
      }
    }
    return own_fd();
  }
  void change_directory(const std::filesystem::path& to) {
    if (!to.empty()) check(posix_spawn_file_actions_addchdir_np(&actions_, to.c_str()));
  }
  pid_t carry_out(const std::string& program, char* const* arguments, char* const* environment) {
    pid_t id;
    const int error = posix_spawnp(&id, program.c_str(), &actions_, &attributes_, arguments, environment);
    if (error != 0) fail(error, program);
    return id;
  }

 private:
  static void check(int error) {
    if (error != 0) fail(error, "posix_spawn");
  }
  posix_spawn_file_actions_t actions_;
  posix_spawnattr_t attributes_;
  std::array<own_fd, 3> its_ends_;                   // closed here once it has them
};

std::vector<char*> pointers_to(const std::vector<std::string>& texts) {
  std::vector<char*> out;
  for (const std::string& text : texts) out.push_back(const_cast<char*>(text.c_str()));
  return out;
}

int open_handle(pid_t id) noexcept { return static_cast<int>(::syscall(SYS_pidfd_open, id, 0)); }

fd to_fd(own_fd end) {
  if (end.get() < 0) return {};
  fd made(end.get());
  end.release();
  return made;
}

}  // namespace

process process::start(const std::string& program, const process_options& how) {
  plan p;
  p.change_directory(how.directory);
  own_fd in = p.set_up(STDIN_FILENO, how.in), out = p.set_up(STDOUT_FILENO, how.out);
  own_fd err = p.set_up(STDERR_FILENO, how.err);
  std::vector<char*> arguments = pointers_to(how.arguments), environment;
  arguments.insert(arguments.begin(), const_cast<char*>(program.c_str()));
  arguments.push_back(nullptr);
  if (how.environment) environment = pointers_to(*how.environment);
  environment.push_back(nullptr);

  process made;
  made.in = to_fd(std::move(in));
  made.out = to_fd(std::move(out));
  made.err = to_fd(std::move(err));
  made.id_ = p.carry_out(program, arguments.data(), how.environment ? environment.data() : environ);
  made.handle_ = open_handle(made.id_);
  if (made.handle_ < 0) fail(errno, "pidfd_open");   // the destructor takes it away again
  return made;
}

process::~process() {
  if (id_ == 0) return;
  ::kill(id_, SIGKILL);
  while (::waitpid(id_, nullptr, 0) < 0 && errno == EINTR) {}
  if (handle_ >= 0) ::close(handle_);
}

void process::swap(process& other) noexcept {
  std::swap(id_, other.id_);
  std::swap(handle_, other.handle_);
  std::swap(in, other.in);
  std::swap(out, other.out);
  std::swap(err, other.err);
}

exit_status process::wait_within(const detail::wait_limits& limits, std::error_code& ec) {
  exit_status status;
  ec.clear();
  if (id_ == 0) return ec = std::make_error_code(std::errc::no_child_process), status;
  detail::wait_foreign(handle_, false, limits, ec);
  if (ec) return status;
  siginfo_t info{};
  if (::waitid(P_PID, static_cast<id_t>(id_), &info, WEXITED) < 0) return ec = last_error(), status;
  id_ = 0;
  ::close(std::exchange(handle_, -1));
  (info.si_code == CLD_EXITED ? status.code : status.signal) = info.si_status;
  return status;
}

void process::kill(int signal) {
  if (id_ == 0) fail(ESRCH, "kill");
  if (::kill(id_, signal) < 0) fail(errno, "kill");
}

}  // namespace weft::inline v0
