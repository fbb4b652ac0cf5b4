// Trials that lead, or are the first of their task, decide what others are measured against and
// which config wins, and the fastest of many single times is in part measurement noise. So they are
// timed a second time, at the end of their batch, and the mean of both counts; so is what was
// disturbed and may lead, and a quiet round counts more than a disturbed one. Pure; thread-safe.
#pragma once

#include "base/measurement.h"

namespace mlc::worker {

// Whether a trial with this threshold (RunTask::early_stop_ns; 0: none) gets a second round.
bool NeedsSecondRound(const Measurement& first, double early_stop_ns);

// What both rounds say together. A kernel that fails only sometimes has failed; a second round that
// could not be made says nothing.
Measurement Together(const Measurement& first, const Measurement& second);

}  // namespace mlc::worker
