// Measures a batch of built kernels one after the other in runner children, while nothing else of
// this worker runs. A crash or hang ends only its own trial; the next trial gets a new child. First
// and leading trials are measured twice (remeasurement.h). Not thread-safe. REQUIRES: the calling
// process has one thread.
#pragma once

#include <cstdint>
#include <vector>

#include "worker/device/cpu/runner.h"

namespace mlc::worker {

struct BatchOptions {
  int threads = 1;
  const MachineProbe* probe = nullptr;
  bool sandbox = true;
  int64_t run_timeout_ms = 10'000;  // of one trial
};

struct TimedMeasurement {
  Measurement measurement;
  double took_s = 0;  // its part of the batch's time, in seconds
};

// Returns one measurement per task, in their order, and updates `machine`.
std::vector<TimedMeasurement> RunBatch(const std::vector<RunTask>& tasks,
                                       const BatchOptions& options, MachineState& machine);

}  // namespace mlc::worker
