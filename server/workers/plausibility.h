// Decides whether a result is plausible: accepted, to be confirmed by a second worker, or refused.
// Pure; thread-safe.
//
// A time that is not a positive number is refused. A time needs a second measurement if it is below
// what the device can do, or if it is far ahead of all known results of its workload and the model
// did not predict it. If the second measurement agrees, the slower of both is stored; otherwise the
// second one is. A time that is below the floor twice is never stored: then the floor or the check
// of results is wrong, and an administrator has to investigate.
#pragma once

#include <string>

#include "base/measurement.h"
#include "base/status.h"

namespace mlc::server {

// What is known of a task, to compare a result with.
struct Known {
  double floor_ns = 0;      // least possible time; 0: unknown
  double best_ns = 0;       // best time so far; 0: none
  int64_t results = 0;      // results so far
  double predicted_ns = 0;  // of this trial; 0: not predicted
};

// True if a confirmation of `second_ns` shows that the claim was wrong, beyond noise and
// differences between devices of a class.
bool Contradicts(double claim_ns, double second_ns);

// Why the result needs a confirmation; empty if it can be accepted. REQUIRES: the result is valid.
std::string Doubt(const Measurement& m, const Known& known);

enum class Confirmation { kAgrees, kDiffers, kImpossible };
Confirmation Compare(const Measurement& claim, const Measurement& second, double floor_ns);

// The measurement to store of two that agree.
Measurement Slower(const Measurement& claim, const Measurement& second, const std::string& detail);

// OK if the result of a canary is as expected. `expected_ns`: the time on another worker of the
// class, 0 if unknown. `factor`: the largest accepted ratio to it.
Status EvaluateCanary(const Measurement& m, double expected_ns, double factor);

}  // namespace mlc::server
