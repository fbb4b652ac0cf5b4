#include "base/process/child_process.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <map>
#include <utility>

#include "base/process/memory_failure.h"
#include "base/sandbox/child_limits.h"

namespace mlc::build {

namespace {

// With whatever weights a child handles: a copy, and what becomes of it.
constexpr int64_t kCopies = 3;
constexpr int64_t kCompilerBytes = int64_t{4} << 30;
constexpr int64_t kCompilerMs = 120'000;

struct Child {
  int job = 0;
  int pipe = -1;    // the child's report: one byte of code, then the message
  int errors = -1;  // what a sandboxed one wrote to standard error
};

// In the child: what it does, and what it reports.
using Body = std::function<Status(int job, const Child& self)>;

// Ends the child with its status written to `pipe`; never returns.
[[noreturn]] void Report(int pipe, const Status& status) {
  std::string text(1, static_cast<char>(status.code()));
  text += status.message().substr(0, 4000);  // below PIPE_BUF: one write, never blocks
  const ssize_t written = write(pipe, text.data(), text.size());
  _exit(written == static_cast<ssize_t>(text.size()) ? 0 : 1);
}

std::string LastWords(int errors) {
  char buffer[1024];
  const ssize_t size = errors < 0 ? 0 : pread(errors, buffer, sizeof(buffer), 0);
  return size > 0 ? std::string(buffer, static_cast<size_t>(size)) : std::string();
}

bool RanOutOfMemory(int wait_status, const std::string& words) {
  if (WIFEXITED(wait_status)) return WEXITSTATUS(wait_status) == kOutOfMemoryCode;
  // This program never kills it: SIGKILL means that the Linux OOM killer did.
  return WTERMSIG(wait_status) == SIGKILL || ReportsOutOfMemory(words);
}

Status ReadReport(const Child& child, int wait_status) {
  char buffer[4096];
  const ssize_t size = read(child.pipe, buffer, sizeof(buffer));
  if (WIFSIGNALED(wait_status) && WTERMSIG(wait_status) == SIGXCPU) {
    return InvalidArgument("the compiler exceeded its limit of CPU time");
  }
  const std::string words = LastWords(child.errors);
  const std::string behind = words.empty() ? "" : ": " + words;
  if (RanOutOfMemory(wait_status, words)) {
    return ResourceExhausted(
        "the compiler ran out of memory: close other programs, or give it a machine with more" +
        behind);
  }
  if (WIFSIGNALED(wait_status)) {
    return Internal(std::string("the compiler's child process ended with signal ") +
                    strsignal(WTERMSIG(wait_status)) + behind);
  }
  const int code = size < 1 ? -1 : buffer[0];
  if (WEXITSTATUS(wait_status) != 0 || code < 0 || code > static_cast<int>(kLastStatusCode)) {
    return Internal("the compiler's child process ended without a report" + behind);
  }
  return Status(static_cast<StatusCode>(code),
                std::string(buffer + 1, static_cast<size_t>(size - 1)));
}

void Close(const Child& child) {
  close(child.pipe);
  if (child.errors >= 0) close(child.errors);
}

Result<std::pair<pid_t, Child>> Start(int job, bool keep_errors, const Body& body) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0)
    return ResourceExhausted("cannot create a pipe: too many open files");
  Child child{job, ends[0], keep_errors ? memfd_create("stderr", MFD_CLOEXEC) : -1};
  const pid_t parent = getpid();
  const pid_t pid = fork();
  if (pid < 0) {
    Close(child);
    close(ends[1]);
    return ResourceExhausted("cannot start a child process: out of processes or memory");
  }
  if (pid == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(1);
    close(ends[0]);
    child.pipe = ends[1];
    EndWhenOutOfMemory();
    Report(ends[1], body(job, child));
  }
  close(ends[1]);
  return std::pair(pid, child);
}

// `name` may be null.
Status RunAll(int jobs, int parallel, bool keep_errors, const Body& body,
              const std::function<std::string(int)>& name) {
  std::map<pid_t, Child> running;
  Status first;
  int first_job = jobs;
  int next = 0;
  while (next < jobs || !running.empty()) {
    if (next < jobs && static_cast<int>(running.size()) < std::max(1, parallel)) {
      Result<std::pair<pid_t, Child>> started = Start(next, keep_errors, body);
      if (!started.ok() && running.empty()) return started.status();
      if (started.ok()) {
        running.insert(*started);
        ++next;
        continue;
      }
    }
    int wait_status = 0;
    const pid_t pid = waitpid(-1, &wait_status, 0);
    // A process that ignores SIGCHLD learns of no single end, only that all have ended; the reports
    // say how.
    const bool unheard = pid < 0 && errno == ECHILD && !running.empty();
    const auto child = unheard ? running.begin() : running.find(pid);
    if (child == running.end()) continue;
    const int job = child->second.job;
    const Status status = ReadReport(child->second, wait_status);
    Close(child->second);
    if (!status.ok() && job < first_job) {
      first = name ? status.WithPrefix(name(job)) : status;
      first_job = job;
    }
    running.erase(child);
  }
  return first;
}

// Of the calling child, for good.
Status EnterChildSandbox(const Limits& limits, const Child& self, std::vector<int> files) {
  for (const int signal : {SIGSEGV, SIGBUS, SIGILL, SIGFPE}) std::signal(signal, SIG_DFL);
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) dup2(self.errors, stream);
  files.push_back(self.pipe);
  CloseDescriptorsBut(std::move(files));
  const Status entered = EnterSandbox(limits);
  if (entered.ok()) return entered;
  return FailedPrecondition("this machine cannot sandbox the compiler: " + entered.message());
}

}  // namespace

Status RunInChildren(int jobs, int parallel, const std::function<Status(int)>& job) {
  return RunAll(
      jobs, parallel, /*keep_errors=*/false, [&](int number, const Child&) { return job(number); },
      nullptr);
}

Status RunSandboxed(const SandboxedJobs& jobs) {
  const auto body = [&](int job, const Child& self) -> Status {
    std::vector<int> files;
    if (jobs.open) files = MLC_TRY(jobs.open(job));
    MLC_TRY(EnterChildSandbox(jobs.limits(job), self, files));
    return jobs.work(job, files);
  };
  return RunAll(jobs.count, jobs.parallel, /*keep_errors=*/true, body, jobs.name);
}

Result<std::string> TextFromSandbox(const Limits& limits,
                                    const std::function<Result<std::string>()>& make) {
  const int memory = memfd_create("text", MFD_CLOEXEC);
  if (memory < 0) return ResourceExhausted("cannot create a memory file: too many open files");
  SandboxedJobs jobs;
  jobs.count = 1;
  jobs.limits = [&](int) { return limits; };
  jobs.open = [&](int) { return std::vector<int>{memory}; };
  jobs.work = [&](int, std::span<const int> files) -> Status {
    const std::string text = MLC_TRY(make());
    if (WriteAt(files[0], text.data(), static_cast<int64_t>(text.size()), 0)) return {};
    return ResourceExhausted("the text has " + std::to_string(text.size()) + " bytes");
  };
  const Status status = RunSandboxed(jobs);
  std::string text;
  if (status.ok()) {
    const off_t size = lseek(memory, 0, SEEK_END);
    text.resize(static_cast<size_t>(std::max<off_t>(size, 0)));
    text.resize(
        static_cast<size_t>(std::max<ssize_t>(pread(memory, text.data(), text.size(), 0), 0)));
  }
  close(memory);
  MLC_TRY(status);
  return text;
}

Limits CompilerLimits(bool foreign, int64_t data_bytes) {
  Limits limits = LimitsFor({.ms = kCompilerMs,
                             .tensor_bytes = kCopies * data_bytes,
                             .memory_bytes = kCompilerBytes + kCopies * data_bytes});
  limits.sandbox = foreign || DetectSandbox().seccomp;
  limits.file_bytes += data_bytes;
  return limits;
}

bool WriteAt(int file, const char* data, int64_t size, int64_t offset) {
  if (lseek(file, offset, SEEK_SET) != offset) return false;
  while (size > 0) {
    const ssize_t written = write(file, data, static_cast<size_t>(size));
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    data += written;
    size -= written;
  }
  return true;
}

}  // namespace mlc::build
