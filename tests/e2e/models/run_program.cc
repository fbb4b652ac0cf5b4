#include "tests/e2e/models/run_program.h"

#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

namespace mlc::testing {

Finished RunProgram(const std::vector<std::string>& command) {
  Finished finished;
  int ends[2];
  if (pipe(ends) != 0) return finished;
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDERR_FILENO);
  posix_spawn_file_actions_addclose(&actions, ends[0]);
  posix_spawn_file_actions_addclose(&actions, ends[1]);
  std::vector<char*> argv;
  for (const std::string& argument : command) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);
  pid_t pid = 0;
  const int failed = posix_spawn(&pid, argv[0], &actions, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  close(ends[1]);
  char buffer[4096];
  for (ssize_t n; failed == 0 && (n = read(ends[0], buffer, sizeof(buffer))) > 0;) {
    finished.output.append(buffer, static_cast<size_t>(n));
  }
  close(ends[0]);
  int status = 0;
  if (failed != 0 || waitpid(pid, &status, 0) != pid) return finished;
  finished.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return finished;
}

}  // namespace mlc::testing
