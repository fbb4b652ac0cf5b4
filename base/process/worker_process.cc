#include "base/process/worker_process.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>

namespace mlc::server::fleet {
namespace {

// Runs in the child, between fork and exec: only async-signal-safe calls.
[[noreturn]] void ExecWorker(char* const* arguments, pid_t parent, int messages) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(1);
  setpgid(0, 0);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  // It reads no standard input.
  const int nothing = open("/dev/null", O_RDONLY);
  if (nothing >= 0) dup2(nothing, STDIN_FILENO);
  if (nothing > STDERR_FILENO) close(nothing);
  dup2(messages >= 0 ? messages : STDERR_FILENO, STDOUT_FILENO);
  if (messages >= 0) dup2(messages, STDERR_FILENO);
  execvp(arguments[0], arguments);
  _exit(127);
}

}  // namespace

Result<pid_t> StartWorkerProcess(std::vector<std::string> words, int messages) {
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  const pid_t parent = getpid();
  const pid_t pid = fork();
  if (pid == 0) ExecWorker(arguments.data(), parent, messages);
  if (pid < 0) return Unavailable(std::string("cannot start a worker: ") + strerror(errno));
  setpgid(pid, pid);  // in parent and child: either may run first
  return pid;
}

}  // namespace mlc::server::fleet
