// The gate between timings and other heavy work on the same machine: a lock file. A worker holds it
// exclusively while it times; long computations (model fits) hold it meanwhile, shared or
// exclusively. Without a path, or if the file cannot be opened, or is held for too long, the gate
// is open: that costs precision, never correctness. Linux only; the lock ends with its holder, also
// after a crash.
#pragma once

#include <chrono>
#include <string>

namespace mlc::worker {

struct GateFile {
  std::string path;   // empty: none
  bool make = false;  // if it is not there
};

class MeasurementGate {
 public:
  enum class Mode { kShared, kExclusive };

  // Waits until the lock is free, for no longer than `timeout`.
  MeasurementGate(const GateFile& file, Mode mode,
                  std::chrono::milliseconds timeout = std::chrono::seconds(30));
  ~MeasurementGate();
  MeasurementGate(const MeasurementGate&) = delete;
  MeasurementGate& operator=(const MeasurementGate&) = delete;

  // The process that held it for all that time; empty: none.
  const std::string& held_by() const { return held_by_; }

 private:
  int fd_ = -1;
  std::string held_by_;
};

}  // namespace mlc::worker
