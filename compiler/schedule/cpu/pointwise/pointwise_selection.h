// Selections: the places of what is true, and the boxes that overlap no better one. How many there
// are is known at run time; results have room for the most. Thread-safe.
#pragma once

#include "compiler/schedule/space/family.h"

namespace mlc::schedule {

bool IsSelection(graph::Op op);
// The workload's selection if it is the only output; else kNoValue.
graph::ValueId FindSelection(const graph::Workload& workload);
// REQUIRES FindSelection(workload) == selection.
LoweredKernel LowerSelection(const graph::Workload& workload, graph::ValueId selection);

}  // namespace mlc::schedule
