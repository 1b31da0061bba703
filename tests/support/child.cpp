// child.cpp — posix_spawn, two pipes, one poll loop.
#include "child.hpp"

#include "weft_test.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <regex>

extern char** environ;

namespace weft_test {
namespace {

constexpr std::chrono::seconds time_limit{slowdown > 1 ? 240 : 60};

struct pipe_ends {
  int read = -1, write = -1;
  pipe_ends() {
    int fds[2];
    if (pipe2(fds, O_CLOEXEC) == 0) read = fds[0], write = fds[1];
  }
  ~pipe_ends() {
    close_write();
    if (read >= 0) close(read);
  }
  void close_write() {
    if (write >= 0) close(write);
    write = -1;
  }
};

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> all;
  for (std::string& text : texts) all.push_back(text.data());
  all.push_back(nullptr);
  return all;
}

std::vector<std::string> environment_with(const std::vector<std::string>& more) {
  std::vector<std::string> all;
  for (char** e = environ; *e; ++e) {
    if (strncmp(*e, "WEFT", 4) != 0) all.push_back(*e);
  }
  all.insert(all.end(), more.begin(), more.end());
  return all;
}

pid_t start(const std::string& path, const child_options& how, const pipe_ends& out, const pipe_ends& err) {
  std::vector<std::string> arguments{path};
  arguments.insert(arguments.end(), how.arguments.begin(), how.arguments.end());
  std::vector<std::string> environment = environment_with(how.environment);
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&files, out.write, 1);
  posix_spawn_file_actions_adddup2(&files, err.write, 2);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  if (how.signal_group) posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
  pid_t pid = -1;
  int error = posix_spawn(&pid, path.c_str(), &files, &attributes, pointers(arguments).data(),
                          pointers(environment).data());
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&files);
  return error == 0 ? pid : -1;
}

// False at the end of the stream.
bool read_some(int fd, std::string& into) {
  char buffer[16 * 1024];
  ssize_t n = read(fd, buffer, sizeof buffer);
  if (n > 0) into.append(buffer, static_cast<std::size_t>(n));
  return n > 0;
}

}  // namespace

child_result run_child(const std::string& path, const child_options& how) {
  child_result r;
  pipe_ends out, err;
  pid_t pid = start(path, how, out, err);
  if (pid < 0) {
    r.err = "cannot start " + path;
    return r;
  }
  out.close_write();
  err.close_write();
  auto deadline = std::chrono::steady_clock::now() + time_limit;
  pollfd fds[] = {{out.read, POLLIN, 0}, {err.read, POLLIN, 0}};
  bool signalled = how.signal_when == 0;
  while (fds[0].fd >= 0 || fds[1].fd >= 0) {
    auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
    const bool again = signalled && how.signal_group;
    const int ready = left.count() <= 0 ? 0 : poll(fds, 2, again ? 0 : static_cast<int>(left.count()));
    if (ready <= 0 && (!again || left.count() <= 0)) {
      r.timed_out = true;
      kill(how.signal_group ? -pid : pid, SIGKILL);
      break;
    }
    if (again) kill(-pid, how.signal_when);
    if (fds[0].revents && !read_some(fds[0].fd, r.out)) fds[0].fd = -1;
    if (fds[1].revents && !read_some(fds[1].fd, r.err)) fds[1].fd = -1;
    if (!signalled && r.out.find('\n') != r.out.npos) {
      signalled = true;
      kill(how.signal_group ? -pid : pid, how.signal_when);
    }
  }
  int status = 0;
  waitpid(pid, &status, 0);
  if (WIFEXITED(status)) r.exit_status = WEXITSTATUS(status);
  if (WIFSIGNALED(status)) r.signal = WTERMSIG(status);
  return r;
}

std::ostream& operator<<(std::ostream& to, const child_result& r) {
  to << "exit status " << r.exit_status << ", signal " << r.signal << (r.timed_out ? ", timed out" : "");
  return to << "\n---- stdout ----\n" << r.out << "---- stderr ----\n" << r.err << "----\n";
}

std::vector<dumped_goroutine> goroutines_in(const std::string& err, bool symbolized) {
  std::size_t border = err.find("\nsymbolized:\n");
  std::string part;
  if (!symbolized) part = err.substr(0, border);
  else if (border != err.npos) part = err.substr(border);
  static const std::regex header("\ngoroutine ([0-9]+) [^\n[]*\\[([^\n]*)\\]:\n");
  std::vector<dumped_goroutine> all;
  std::sregex_iterator end;
  for (std::sregex_iterator i(part.begin(), part.end(), header); i != end; ++i) {
    std::smatch m = *i;
    auto start = static_cast<std::size_t>(m.position() + m.length());
    auto next = std::next(i);
    std::size_t stop = next == end ? part.size() : static_cast<std::size_t>(next->position());
    all.push_back({m[1], m[2], part.substr(start, stop - start)});
  }
  return all;
}

}  // namespace weft_test
