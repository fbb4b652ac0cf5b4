#include "server/jobs/crash_marker.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <fstream>

namespace mlc::server {
namespace {

constexpr size_t kDigits = 32;
constexpr size_t kStackBytes = size_t{64} << 10;
constexpr int kSignals[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};

// What a signal handler may read and write. A line: the id in hexadecimal digits.
volatile int marker_fd = -1;
thread_local char current_job[kDigits + 1];

void OnCrash(int signal) {
  if (current_job[0] != 0) [[maybe_unused]]
    const ssize_t w = write(marker_fd, current_job, kDigits + 1);
  // The handler is gone by now: this ends the process as it would have without.
  (void)raise(signal);
}

}  // namespace

Status InstallCrashMarker(const std::string& path) {
  marker_fd = open(path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
  if (marker_fd < 0) {
    return Unavailable("crashes cannot be recorded in " + path + ": " + std::strerror(errno));
  }
  struct sigaction action = {};
  action.sa_handler = OnCrash;
  action.sa_flags = static_cast<int>(SA_ONSTACK | SA_RESETHAND);
  sigemptyset(&action.sa_mask);
  for (const int signal : kSignals) (void)sigaction(signal, &action, nullptr);
  return Status();
}

std::vector<Digest> CrashedJobs(const std::string& path) {
  std::vector<Digest> jobs;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    // A torn line is ignored.
    if (const Result<Digest> job = Digest::Parse(line); job.ok()) jobs.push_back(*job);
  }
  return jobs;
}

void ClearCrashMarker(const std::string& path) {
  if (path.empty()) return;
  // A marker that cannot be emptied is read again at the next start.
  [[maybe_unused]] const int failed = truncate(path.c_str(), 0);
}

ScopedCrashJob::ScopedCrashJob(const Digest& job) {
  const std::string id = job.ToText();
  std::copy_n(id.begin(), std::min(id.size(), kDigits), current_job);
  current_job[kDigits] = '\n';
}

ScopedCrashJob::~ScopedCrashJob() { current_job[0] = 0; }

SignalStack::SignalStack() : memory_(std::make_unique<char[]>(kStackBytes)) {
  stack_t stack = {};
  stack.ss_sp = memory_.get();
  stack.ss_size = kStackBytes;
  (void)sigaltstack(&stack, nullptr);
}

SignalStack::~SignalStack() {
  stack_t stack = {};
  stack.ss_flags = SS_DISABLE;
  (void)sigaltstack(&stack, nullptr);
}

}  // namespace mlc::server
