// Records in a marker file which job the server computed for when it crashed, for its next start. A
// crash is a signal that the process raises itself (a fault of memory or arithmetic, a failed
// check); a kill from outside or a power failure does not count. Thread-safe.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/digest.h"
#include "base/status.h"

namespace mlc::server {

// Installs handlers that append to the file, on a crash, the id of the job that the faulting thread
// works on. Call it once per process. UNAVAILABLE if the file cannot be written.
Status InstallCrashMarker(const std::string& path);

// The jobs in the file, one entry per crash. Empty if the file does not exist or the path is empty.
std::vector<Digest> CrashedJobs(const std::string& path);
void ClearCrashMarker(const std::string& path);

// Marks this thread as computing for the job during the lifetime of the object.
class ScopedCrashJob {
 public:
  explicit ScopedCrashJob(const Digest& job);
  ~ScopedCrashJob();
  ScopedCrashJob(const ScopedCrashJob&) = delete;
  ScopedCrashJob& operator=(const ScopedCrashJob&) = delete;
};

// An alternative stack on which this thread handles signals after its own stack has overflowed.
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
