// The peak rates of a machine, measured once when a worker starts.
#pragma once

#include "base/sandbox/child_limits.h"
#include "base/status.h"
#include "worker/measure/machine_probe.h"

namespace mlc::worker {

struct Peaks {
  double fma_gflops = 0;
  double copy_gbps = 0;
};

// The resource limits of a calibration with this many threads.
build::ChildWork CalibrationWork(int threads);

// Measures the peaks in a child; `probe` has work.threads threads. Errors begin with what to do:
// UNAVAILABLE if the machine cannot run so many threads or gives them too little time, INTERNAL
// otherwise. REQUIRES: this process has one thread.
Result<Peaks> MeasurePeaks(const MachineProbe& probe, const build::ChildWork& work, bool sandbox);

}  // namespace mlc::worker
