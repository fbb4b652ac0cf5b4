// What a machine can do at best, measured once when a worker starts.
#pragma once

#include "base/sandbox/child_limits.h"
#include "base/status.h"
#include "worker/measure/machine_probe.h"

namespace mlc::worker {

struct Peaks {
  double fma_gflops = 0;
  double copy_gbps = 0;
};

// What measuring with so many threads is allowed to take.
build::ChildWork CalibrationWork(int threads);

// In a child; `machine_probe` has work.threads threads. Errors begin with what is to be done:
// UNAVAILABLE where the machine cannot run so many threads or gives them too little time, INTERNAL
// for the rest. REQUIRES: this process has one thread.
Result<Peaks> MeasurePeaks(const MachineProbe& probe, const build::ChildWork& work, bool sandbox);

}  // namespace mlc::worker
