// Remeasurement of decisive trials. Trials that lead, or are the first of their task, decide what
// others are compared with and which config wins, and the fastest of many single times is partly
// noise. So they are timed a second time at the end of their batch, and the mean of both counts; so
// are disturbed ones that may lead, and a quiet measurement counts more than a disturbed one. Pure;
// thread-safe.
#pragma once

#include "base/measurement.h"

namespace mlc::worker {

// Whether a trial with this threshold (RunTask::early_stop_ns; 0: none) is measured a second time.
bool NeedsRemeasurement(const Measurement& first, double early_stop_ns);

// Combines both measurements. A kernel that fails in either has failed; if the second one failed
// because of the machine, the first one counts.
Measurement CombineMeasurements(const Measurement& first, const Measurement& second);

}  // namespace mlc::worker
