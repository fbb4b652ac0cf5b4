// Which job the server computed for when it crashed: a note in a file, for its next start. A crash
// is a signal of the process's own making (a fault of memory or arithmetic, a failed check);
// whoever kills the server, and a failure of power, says nothing about any job.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/digest.h"
#include "base/status.h"

namespace mlc::server {

// From now on a crash appends the id of the job that the thread at fault is at work on. Once a
// process. UNAVAILABLE if the file cannot be written.
Status WatchCrashes(const std::string& path);

// The jobs of the file, once for each crash; none if there is no file, or no path.
std::vector<Digest> CrashedJobs(const std::string& path);
void ForgetCrashes(const std::string& path);

// This thread computes for the job as long as the object lives.
class JobAtWork {
 public:
  explicit JobAtWork(const Digest& job);
  ~JobAtWork();
  JobAtWork(const JobAtWork&) = delete;
  JobAtWork& operator=(const JobAtWork&) = delete;
};

// Where this thread handles signals when its own stack has overflowed.
class SignalStack {
 public:
  SignalStack();
  ~SignalStack();
  SignalStack(const SignalStack&) = delete;
  SignalStack& operator=(const SignalStack&) = delete;

 private:
  std::unique_ptr<char[]> memory_;
};

}  // namespace mlc::server
