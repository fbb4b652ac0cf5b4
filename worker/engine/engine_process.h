// The engine in a process of its own, which the daemon forks before it starts any thread: the
// daemon itself holds no compiler and runs no generated code. Messages over a socket pair; before
// it measures, the engine asks, so that the daemon can hold still. Not thread-safe.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/status.h"
#include "worker/device/device_description.h"
#include "worker/engine/engine.h"

namespace mlc::worker {

// Runs in the engine's process.
using EngineMaker = std::function<Result<std::unique_ptr<Engine>>()>;

class EngineProcess {
 public:
  // REQUIRES: this process has one thread. Waits until the engine is made, for no longer than
  // `timeout_ms`.
  static Result<std::unique_ptr<EngineProcess>> Start(const EngineMaker& make, int64_t timeout_ms);
  ~EngineProcess();  // ends it and its children
  EngineProcess(const EngineProcess&) = delete;
  EngineProcess& operator=(const EngineProcess&) = delete;

  // What the engine measures on; Trial::target is an index into it.
  const std::vector<DeviceDescription>& devices() const { return devices_; }

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

  // How the devices' time went so far, of those that tell it.
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
