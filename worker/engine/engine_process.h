// Runs the engine in a separate process, which the daemon forks before it starts threads. The
// daemon itself therefore has no compiler and runs no generated code. Both exchange messages over a
// socket pair. Before it measures, the engine asks the daemon to stay idle. Not thread-safe.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/status.h"
#include "worker/device/device_description.h"
#include "worker/engine/engine.h"

namespace mlc::worker {

// Creates the engine; runs in its process.
using EngineMaker = std::function<Result<std::unique_ptr<Engine>>()>;

class EngineProcess {
 public:
  // Starts the process and waits at most `timeout_ms` until the engine is created. REQUIRES: this
  // process has one thread.
  static Result<std::unique_ptr<EngineProcess>> Start(const EngineMaker& make, int64_t timeout_ms);
  ~EngineProcess();  // ends the process and its children
  EngineProcess(const EngineProcess&) = delete;
  EngineProcess& operator=(const EngineProcess&) = delete;

  // The devices of the engine; Trial::target is an index into them.
  const std::vector<DeviceDescription>& devices() const { return devices_; }

  void Add(const Trial& trial);
  void Cancel(const Digest& uid);
  void SetGate(const GateFile& file);
  // Answers Events::wants_to_measure. The measurement lasts until Events::measured.
  void AllowMeasurement();

  struct Events {
    std::vector<TrialResult> results;
    bool wants_to_measure = false;
    bool measured = false;
    std::vector<std::string> warnings;  // for the user
  };
  // The events since the last call. UNAVAILABLE if the engine has ended.
  Result<Events> Read();
  // Sends queued messages as far as the socket accepts them.
  void Flush();

  // The use of the devices that report it, so far.
  const DeviceUse& use() const { return use_; }

  // For poll(): readable on events, and writable when there is something to flush.
  int fd() const { return fd_; }
  bool wants_to_write() const { return !outgoing_.empty(); }

 private:
  EngineProcess(int fd, pid_t pid) : fd_(fd), pid_(pid) {}
  void Send(std::string payload);

  int fd_;
  pid_t pid_;
  std::vector<DeviceDescription> devices_;
  DeviceUse use_;
  std::string incoming_;
  std::string outgoing_;
};

}  // namespace mlc::worker
