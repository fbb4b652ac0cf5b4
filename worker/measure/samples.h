// Takes the samples of a timing in slices. The machine is probed between slices; slices that were
// disturbed or are slower than others are repeated. Not thread-safe.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "worker/measure/quiet_machine_gate.h"
#include "worker/measure/timing.h"

namespace mlc::worker {

struct Samples {
  std::vector<double> sorted;  // nanoseconds of one execution; not empty
  double machine_speed = 1;    // the lowest of their slices
};

// Nanoseconds per execution over `runs` executions.
double TimeRuns(const std::function<void()>& run, int64_t runs, const Stopwatch& watch);

// Returns the uninterrupted samples of quiet slices within 10 % of the fastest slice. If there are
// too few of them, it returns those of the slices with the highest machine speed; if nearly all
// samples were interrupted, all samples. `estimate`: nanoseconds of one execution.
Samples TakeSamples(const std::function<void()>& run, double estimate, const TimingOptions& options,
                    const Stopwatch& watch, QuietMachineGate& gate);

}  // namespace mlc::worker
