// The engine in a process of its own, which the daemon forks before it starts any thread: the
// daemon itself holds no compiler and runs no generated code. Messages over a socket pair; before
// it measures, the engine asks, so that the daemon can hold still. Not thread-safe.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/status.h"
#include "worker/engine/engine.h"

namespace mlc::worker {

class EngineProcess {
 public:
  // REQUIRES: this process has one thread. Waits for the engine: below a second.
  static Result<std::unique_ptr<EngineProcess>> Start(EngineOptions options);
  ~EngineProcess();  // ends it and its children
  EngineProcess(const EngineProcess&) = delete;
  EngineProcess& operator=(const EngineProcess&) = delete;

  // The targets with their measured peaks; Trial::target is an index into them.
  const std::vector<std::string>& targets() const { return targets_; }

  void Add(const Trial& trial);
  void Cancel(const Digest& uid);
  void SetGate(const GateFile& file);
  // The answer to Events::wants_to_measure. Measuring lasts until Events::measured.
  void AllowMeasurement();

  struct Events {
    std::vector<TrialResult> results;
    bool wants_to_measure = false;
    bool measured = false;
    std::vector<std::string> warnings;  // for people
  };
  // What happened since the last call. UNAVAILABLE when the engine has ended.
  Result<Events> Read();
  // Sends what is queued as far as the socket takes it.
  void Flush();

  // How the GPUs' time went so far, for people; empty without any.
  const std::string& gpu_usage() const { return gpu_usage_; }
  // Seconds over all GPUs: with trials, and of them at work.
  double gpu_trial_seconds() const { return gpu_trial_s_; }
  double gpu_busy_seconds() const { return gpu_busy_s_; }

  // For poll(): readable on events, and writable when there is something to flush.
  int fd() const { return fd_; }
  bool wants_to_write() const { return !outgoing_.empty(); }

 private:
  EngineProcess(int fd, pid_t pid) : fd_(fd), pid_(pid) {}
  void Send(std::string payload);

  int fd_;
  pid_t pid_;
  std::vector<std::string> targets_;
  std::string gpu_usage_;
  double gpu_trial_s_ = 0;
  double gpu_busy_s_ = 0;
  std::string incoming_;
  std::string outgoing_;
};

}  // namespace mlc::worker
