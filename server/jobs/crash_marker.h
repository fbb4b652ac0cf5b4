// Records in a marker file which job the server computed for when it crashed, for its next start. A
// crash is a signal that the process raises itself (a fault of memory or arithmetic, a failed
// check); a kill from outside or a power failure does not count.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/digest.h"
#include "base/status.h"

namespace mlc::server {

// From now on a crash appends the id of the job that the thread at fault is at work on. Once a
// process. UNAVAILABLE if the file cannot be written.
Status InstallCrashMarker(const std::string& path);

// The jobs of the file, once for each crash; none if there is no file, or no path.
std::vector<Digest> CrashedJobs(const std::string& path);
void ClearCrashMarker(const std::string& path);

// This thread computes for the job as long as the object lives.
class ScopedCrashJob {
 public:
  explicit ScopedCrashJob(const Digest& job);
  ~ScopedCrashJob();
  ScopedCrashJob(const ScopedCrashJob&) = delete;
  ScopedCrashJob& operator=(const ScopedCrashJob&) = delete;
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
