// Scatters whose data nothing else needs: their kernels first copy the data, then write the updates
// over the copy. Pure; thread-safe.
#pragma once

#include <optional>

#include "compiler/graph/workload.h"

namespace mlc::graph {

struct CopiedOperand {
  int operand = 0;  // of the workload
  int output = 0;
};

// The operand of the workload whose elements the first of two phases (on a GPU: launches) copies to
// the output, at the same places, while the second phase does not read it; empty if there is none.
// Where both share their memory, the second phase alone computes all results.
std::optional<CopiedOperand> CopiedOperandOf(const Workload& workload);

}  // namespace mlc::graph
