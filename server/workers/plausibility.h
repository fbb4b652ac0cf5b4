// Whether a result can be true: what is taken at once, what a second worker has to confirm, what is
// refused. Pure.
//
// A time is refused if it is no time at all. It waits for a second measurement if it is below what
// the device can do, or if it is far ahead of all that is known of its workload and the model did
// not expect it. The second measurement decides: if it agrees, the slower of the two is kept; if
// not, it is kept itself. What is below the floor twice is never kept: then the floor or the check
// of results is wrong, which a person has to investigate.
#pragma once

#include <string>

#include "base/measurement.h"
#include "base/status.h"

namespace mlc::server {

// What a result of a task is held against.
struct Known {
  double floor_ns = 0;      // no honest time is below it; 0: unknown
  double best_ns = 0;       // of the task, so far; 0: none
  int64_t results = 0;      // of the task, so far
  double predicted_ns = 0;  // of this trial; 0: not predicted
};

// Whether a confirmation that took `second_ns` says that the claim was false, not only noise, or
// made on a better device of the class.
bool Contradicts(double claim_ns, double second_ns);

// Empty if the result can be taken, else why it has to be confirmed. REQUIRES: it is valid.
std::string Doubt(const Measurement& m, const Known& known);

enum class Confirmation { kAgrees, kDiffers, kImpossible };
Confirmation Compare(const Measurement& claim, const Measurement& second, double floor_ns);

// What is kept of two that agree.
Measurement Slower(const Measurement& claim, const Measurement& second, const std::string& detail);

// OK if a canary's result is as it should be. `expected_ns`: of another worker of the class, 0 if
// unknown; `factor`: how far from it is still the same device.
Status EvaluateCanary(const Measurement& m, double expected_ns, double factor);

}  // namespace mlc::server
