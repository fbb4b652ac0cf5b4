// The samples of a timing. They are taken in slices, between which the machine is asked whether it
// is calm; slices that were disturbed, or are slower than others, are repeated. Not thread-safe.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "worker/measure/calm_gate.h"
#include "worker/measure/timing.h"

namespace mlc::worker {

struct Samples {
  std::vector<double> sorted;  // nanoseconds of one execution; not empty
  double calm = 1;             // the least of their slices
};

// Nanoseconds of one of `runs` executions.
double TimeRuns(const std::function<void()>& run, int64_t runs, const Stopwatch& watch);

// Samples that nothing interrupted, of calm slices within 10 % of the fastest; if the machine is so
// busy that there are too few, those of the calmest slices; if nearly all were interrupted, all.
// `estimate`: nanoseconds of one execution.
Samples TakeSamples(const std::function<void()>& run, double estimate, const TimingOptions& options,
                    const Stopwatch& watch, CalmGate& gate);

}  // namespace mlc::worker
