// processes.cpp — fork takes every lock of malloc and copies one thread: children in the middle of a storm.
#include "processes.hpp"

#include <sys/wait.h>

#include <stdexcept>
#include <string>

#include "alarm.hpp"
#include "files.hpp"
#include "storm.hpp"
#include "unstoppable.hpp"

namespace unstoppable {

pid_t start_program(const char* const* arguments, int input, int output) {
  const pid_t child = fork();
  if (child < 0) throw_errno("fork");
  if (child > 0) return child;
  if (input >= 0) dup2(input, STDIN_FILENO);
  if (output >= 0) dup2(output, STDOUT_FILENO);
  execv(arguments[0], const_cast<char* const*>(arguments));
  _exit(127);
}

int end_of(pid_t child) {
  int status = 0;
  if (waitpid(child, &status, 0) < 0) throw_errno("waitpid");
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

void fork_in_storm() {
  const char* const program[] = {"/bin/true", nullptr};
  const alarm end;
  const storm others(64, end);
  int failed = 0;
  do {
    if (end_of(start_program(program)) != 0) ++failed;
  } while (!end.rings());
  others.wait();
  if (failed != 0) throw std::runtime_error(std::to_string(failed) + " children did not end well");
}

}  // namespace unstoppable
