#include "base/process/child.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <utility>

#include "base/process/memory_failure.h"

namespace mlc::worker {
namespace {

constexpr int kNoSandboxCode = 2;

[[noreturn]] void RunChild(const Child::Options& options, const Child::Body& body, pid_t parent,
                           int pipe, int errors) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(1);
  for (int signal : {SIGINT, SIGTERM, SIGHUP, SIGPIPE}) std::signal(signal, SIG_IGN);
  // A crash is told by its signal: no handler of the parent, as of a sanitizer, comes before it.
  for (int signal : {SIGSEGV, SIGBUS, SIGILL, SIGFPE}) std::signal(signal, SIG_DFL);
  dup2(errors, STDERR_FILENO);
  dup2(errors, STDOUT_FILENO);
  // Where there is no such device, nothing is read of what is written last.
  const int nothing = open("/dev/null", O_RDONLY);
  dup2(nothing >= 0 ? nothing : errors, STDIN_FILENO);
  std::vector<int> keep = options.keep;
  keep.push_back(pipe);
  build::CloseDescriptorsBut(std::move(keep));
  build::EndWhenOutOfMemory();
  if (options.before) options.before();
  const Status status = build::EnterSandbox(options.limits);
  if (!status.ok()) {
    std::fputs(status.message().c_str(), stderr);
    _exit(kNoSandboxCode);
  }
  body(pipe);
  _exit(0);
}

}  // namespace

bool WriteAll(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = write(fd, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    bytes.remove_prefix(static_cast<size_t>(written));
  }
  return true;
}

Result<Child> Child::Start(const Options& options, const Body& body) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0)
    return ResourceExhausted("cannot create a pipe: too many open files");
  const int errors = memfd_create("stderr", MFD_CLOEXEC);
  const pid_t parent = getpid();
  const pid_t pid = fork();
  // Both sides, so that it is done whichever goes first.
  if (pid >= 0 && options.has_children) (void)setpgid(pid, pid);
  if (pid == 0) RunChild(options, body, parent, ends[1], errors);
  close(ends[1]);
  if (pid < 0) {
    close(ends[0]);
    close(errors);
    return ResourceExhausted("cannot start a child process: out of processes or memory");
  }
  (void)fcntl(ends[0], F_SETFL, O_NONBLOCK);
  return Child(pid, ends[0], errors, options);
}

Child::Child(pid_t pid, int pipe, int errors, const Options& options)
    : pid_(pid),
      has_children_(options.has_children),
      pipe_(pipe),
      errors_(errors),
      most_bytes_(options.most_bytes),
      since_(std::chrono::steady_clock::now()) {}

Child::Child(Child&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)),
      has_children_(other.has_children_),
      pipe_(std::exchange(other.pipe_, -1)),
      errors_(std::exchange(other.errors_, -1)),
      most_bytes_(other.most_bytes_),
      sent_too_much_(other.sent_too_much_),
      received_(std::move(other.received_)),
      since_(other.since_),
      ran_(other.ran_),
      stopped_(other.stopped_) {}

Child& Child::operator=(Child&& other) noexcept {
  std::swap(pid_, other.pid_);
  std::swap(has_children_, other.has_children_);
  std::swap(pipe_, other.pipe_);
  std::swap(errors_, other.errors_);
  std::swap(most_bytes_, other.most_bytes_);
  std::swap(sent_too_much_, other.sent_too_much_);
  std::swap(received_, other.received_);
  std::swap(since_, other.since_);
  std::swap(ran_, other.ran_);
  std::swap(stopped_, other.stopped_);
  return *this;
}

Child::~Child() {
  if (pid_ > 0) {
    Kill();
    Reap();
  }
  if (pipe_ >= 0) close(pipe_);
  if (errors_ >= 0) close(errors_);
}

bool Child::Read() {
  char buffer[65536];
  for (;;) {
    if (sent_too_much_) return false;
    const ssize_t size = read(pipe_, buffer, sizeof(buffer));
    if (size > 0) received_.append(buffer, static_cast<size_t>(size));
    if (received_.size() > most_bytes_) {
      sent_too_much_ = true;
      Kill();
    }
    if (size == 0) return false;
    if (size < 0 && errno != EINTR) return errno == EAGAIN;
  }
}

void Child::Signal(int signal) const { kill(has_children_ ? -pid_ : pid_, signal); }

void Child::Stop() {
  if (stopped_ || pid_ < 0) return;
  Signal(SIGSTOP);
  ran_ += std::chrono::steady_clock::now() - since_;
  stopped_ = true;
}

void Child::Continue() {
  if (!stopped_ || pid_ < 0) return;
  Signal(SIGCONT);
  since_ = std::chrono::steady_clock::now();
  stopped_ = false;
}

void Child::Kill() {
  if (pid_ > 0) Signal(SIGKILL);
}

int Child::Reap(std::chrono::milliseconds timeout) {
  const int process =
      pid_ > 0 ? static_cast<int>(syscall(SYS_pidfd_open, static_cast<long>(pid_), 0L)) : -1;
  pollfd ended = {process, POLLIN, 0};
  if (process >= 0 && poll(&ended, 1, static_cast<int>(timeout.count())) == 0) Kill();
  if (process >= 0) close(process);
  int status = 0;
  while (pid_ > 0 && waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
  }
  pid_ = -1;
  return status;
}

std::string Child::ErrorText() const {
  char buffer[1024];
  const ssize_t size = pread(errors_, buffer, sizeof(buffer), 0);
  return size > 0 ? std::string(buffer, static_cast<size_t>(size)) : std::string();
}

std::chrono::nanoseconds Child::Running() const {
  return stopped_ ? ran_ : ran_ + (std::chrono::steady_clock::now() - since_);
}

std::string DescribeEnd(int wait_status) {
  if (!WIFSIGNALED(wait_status)) {
    if (WEXITSTATUS(wait_status) == build::kOutOfMemoryCode) return "ran out of memory";
    return "ended with code " + std::to_string(WEXITSTATUS(wait_status));
  }
  const int signal = WTERMSIG(wait_status);
  const char* name = sigabbrev_np(signal);
  return std::string("ended with signal SIG") + (name != nullptr ? name : "?") + " (" +
         strsignal(signal) + ")";
}

bool IsMachineFailure(int wait_status, const std::string& errors) {
  if (WIFSIGNALED(wait_status)) {
    return WTERMSIG(wait_status) == SIGKILL || build::ReportsOutOfMemory(errors);
  }
  const int code = WEXITSTATUS(wait_status);
  return code == kNoSandboxCode || code == build::kOutOfMemoryCode;
}

}  // namespace mlc::worker
