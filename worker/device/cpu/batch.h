// Runs a batch of built kernels one after the other in runner children, with nothing else of this
// worker running. A crash or a hang costs its own trial only: the next ones get a new child. First
// trials and those that lead are measured twice (remeasurement.h). Not thread-safe. REQUIRES: the
// calling process has one thread.
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
  double took_s = 0;  // of the batch's time
};

// Parallel to `tasks`. `machine` is updated.
std::vector<TimedMeasurement> RunBatch(const std::vector<RunTask>& tasks,
                                       const BatchOptions& options, MachineState& machine);

}  // namespace mlc::worker
