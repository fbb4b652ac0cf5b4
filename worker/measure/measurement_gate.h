// A lock file that separates timings from other heavy work on the same machine. A worker holds it
// exclusively while it times; long computations, such as model fits, hold it shared or exclusively.
// The gate is open if there is no path, if the file cannot be opened, or if another process holds
// it too long. An open gate costs precision, never correctness. Linux only; the lock ends with its
// holder, also after a crash. Not thread-safe.
#pragma once

#include <chrono>
#include <string>

namespace mlc::worker {

struct GateFile {
  std::string path;   // empty: none
  bool make = false;  // create the file if it does not exist
};

class MeasurementGate {
 public:
  enum class Mode { kShared, kExclusive };

  // Waits at most `timeout` for the lock.
  MeasurementGate(const GateFile& file, Mode mode,
                  std::chrono::milliseconds timeout = std::chrono::seconds(30));
  ~MeasurementGate();
  MeasurementGate(const MeasurementGate&) = delete;
  MeasurementGate& operator=(const MeasurementGate&) = delete;

  // The process that held the lock during the whole timeout; empty if the lock was acquired.
  const std::string& held_by() const { return held_by_; }

 private:
  int fd_ = -1;
  std::string held_by_;
};

}  // namespace mlc::worker
