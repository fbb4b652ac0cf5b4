// Scatters whose data nothing else needs: their kernels first copy the data, then write the updates
// over the copy. Pure; thread-safe.
#pragma once

#include <vector>

#include "compiler/graph/workload.h"

namespace mlc::graph {

struct CopiedOperand {
  int operand = 0;  // of the workload
  int output = 0;
};

// The operands of the workload whose elements the first of two phases (on a GPU: launches) copies
// to outputs, at the same places, while the second phase does not read them; empty if the first
// phase does more, or there is none. Where each shares its memory with its output, the second phase
// alone computes all results. In the order of the outputs.
std::vector<CopiedOperand> CopiedOperandsOf(const Workload& workload);

}  // namespace mlc::graph
