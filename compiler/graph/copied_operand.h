// Scatters whose data nothing else needs: their kernels first copy the data, then write the updates
// over the copy. Pure; thread-safe.
#pragma once

#include "compiler/graph/workload.h"

namespace mlc::graph {

// The operand of the workload whose elements the first of two phases (on a GPU: launches) copies to
// the only output, at the same places, while the second phase does not read it; -1 if there is
// none. Where both share their memory, the second phase alone computes the result.
int CopiedOperand(const Workload& workload);

}  // namespace mlc::graph
