#include "compiler/build/child_process.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstring>
#include <map>
#include <string>

namespace mlc::build {

namespace {

struct Child {
  int job = 0;
  int pipe = -1;  // the child's report: one byte of code, then the message
};

// Ends the child with its status written to `pipe`; never returns.
[[noreturn]] void Report(int pipe, const Status& status) {
  std::string text(1, static_cast<char>(status.code()));
  text += status.message().substr(0, 4000);  // below PIPE_BUF: one write, never blocks
  const ssize_t written = write(pipe, text.data(), text.size());
  _exit(written == static_cast<ssize_t>(text.size()) ? 0 : 1);
}

Status ReadReport(int pipe, int wait_status) {
  char buffer[4096];
  const ssize_t size = read(pipe, buffer, sizeof(buffer));
  if (WIFSIGNALED(wait_status)) {
    return Internal(std::string("the compiler's child process ended with signal ") +
                    strsignal(WTERMSIG(wait_status)));
  }
  if (size < 1 || WEXITSTATUS(wait_status) != 0) {
    return Internal("the compiler's child process ended without a report");
  }
  return Status(static_cast<StatusCode>(buffer[0]),
                std::string(buffer + 1, static_cast<size_t>(size - 1)));
}

Result<std::pair<pid_t, Child>> Start(int job, const std::function<Status(int)>& work) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return ResourceExhausted("no pipe: too many open files");
  const pid_t parent = getpid();
  const pid_t pid = fork();
  if (pid < 0) {
    close(ends[0]);
    close(ends[1]);
    return ResourceExhausted("cannot start a child process: out of processes or memory");
  }
  if (pid == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(1);
    close(ends[0]);
    Report(ends[1], work(job));
  }
  close(ends[1]);
  return std::pair(pid, Child{job, ends[0]});
}

}  // namespace

Status RunInChildren(int jobs, int parallel, const std::function<Status(int)>& job) {
  std::map<pid_t, Child> running;
  Status first;
  int first_job = jobs;
  int next = 0;
  while (next < jobs || !running.empty()) {
    if (next < jobs && static_cast<int>(running.size()) < parallel) {
      Result<std::pair<pid_t, Child>> started = Start(next, job);
      if (!started.ok() && running.empty()) return started.status();
      if (started.ok()) {
        running.insert(*started);
        ++next;
        continue;
      }
    }
    int wait_status = 0;
    const pid_t pid = waitpid(-1, &wait_status, 0);
    const auto child = running.find(pid);
    if (child == running.end()) continue;
    const Status status = ReadReport(child->second.pipe, wait_status);
    close(child->second.pipe);
    if (!status.ok() && child->second.job < first_job) {
      first = status;
      first_job = child->second.job;
    }
    running.erase(child);
  }
  return first;
}

}  // namespace mlc::build
