// One chunk of a contraction's output, the unit of work of a thread. Values of a kernel under
// construction. Not thread-safe.
#pragma once

#include <vector>

#include "compiler/ir/build.h"
#include "compiler/schedule/cpu/contraction/contraction_plan.h"

namespace mlc::schedule {

struct ContractionChunk {
  ir::ExprRef row_chunk;     // which of the plan's row_chunks
  ir::ExprRef column_chunk;  // and of its column_chunks
  ir::ExprRef depth_at;      // output of the outermost spatial axis
  // Logical coordinates outside rows and columns.
  std::vector<ir::ExprRef> at;
  ir::ExprRef row_batch;     // offset of the batch in the row operand
  ir::ExprRef column_batch;  // and in the columns as they are read
  ir::ExprRef column_group;  // first logical column of the group
};

// Emits the coordinates of chunk `index` of ContractionPlan::parallel_chunks.
ContractionChunk LocateChunk(const ContractionProblem& problem, const ContractionPlan& plan,
                             const ir::ExprRef& index, ir::KernelBuilder& builder);

}  // namespace mlc::schedule
