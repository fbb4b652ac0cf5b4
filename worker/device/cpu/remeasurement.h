// Remeasurement of first and leading trials. Other trials are compared with them, and they decide
// which config wins; but the fastest of many single times is partly noise. So they are timed a
// second time at the end of their batch, and the mean of both times counts. Disturbed trials that
// may lead are timed again too; a quiet measurement takes precedence over a disturbed one. Pure;
// thread-safe.
#pragma once

#include "base/measurement.h"

namespace mlc::worker {

// True if a trial with this threshold (RunTask::early_stop_ns; 0: none) needs a second measurement.
bool NeedsRemeasurement(const Measurement& first, double early_stop_ns);

// Combines both measurements. If the kernel fails in either, the result is that failure; if the
// machine caused the failure of the second one, the first one counts.
Measurement CombineMeasurements(const Measurement& first, const Measurement& second);

}  // namespace mlc::worker
