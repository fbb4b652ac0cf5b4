// Random values for the operands of a workload, chosen so that the result is defined and
// meaningful: indices are in range; arguments of roots and logarithms and divisors are positive;
// masks are 0 or 1; lengths are those of whole axes; other integers are small. Pure: the same seed
// gives the same values. Thread-safe.
#pragma once

#include <cstdint>
#include <vector>

#include "base/rng.h"
#include "compiler/graph/workload.h"

namespace mlc::worker {

// What the uses of an operand require of its values.
struct InputDomain {
  bool positive = false;  // floats in [0.5, 1.5), integers from 1
  bool index = false;     // integers from 0
  int64_t below = 0;      // upper bound of integers, exclusive; 0: none
  int64_t fixed = 0;      // the only integer, a length; 0: there is none
};
// Parallel to workload.operands().
std::vector<InputDomain> InputDomains(const graph::Workload& workload);

// Dense row-major values.
graph::TensorDataRef RandomTensor(Rng& rng, const graph::TensorType& type,
                                  const InputDomain& domain);

}  // namespace mlc::worker
