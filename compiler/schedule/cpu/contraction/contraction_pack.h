// Column operands rearranged into panels, so that the inner loop reads them in order:
//   [batch][panel][taps of depth, height, row axis][k][panel width], zero beyond the last column.
#pragma once

#include <cstdint>

#include "compiler/ir/build.h"
#include "compiler/schedule/cpu/contraction/contraction_plan.h"
#include "compiler/schedule/space/family.h"

namespace mlc::schedule {

// Distinct column matrices: batches and groups along which the column operand moves.
int64_t ColumnBatches(const ContractionProblem& problem);
int64_t PackedPanelElements(const ContractionProblem& problem, const ContractionPlan& plan);
int64_t PackedElements(const ContractionProblem& problem, const ContractionPlan& plan);

// Emits the phase that packs `source` into `packed`.
void EmitPack(const ContractionProblem& problem, const ContractionPlan& plan, ir::BufferId source,
              ir::BufferId packed, ir::KernelBuilder& builder);

// The same as a preparation, for weights.
Preparation PackPreparation(const graph::Workload& workload, const ContractionProblem& problem,
                            const ContractionPlan& plan);

}  // namespace mlc::schedule
