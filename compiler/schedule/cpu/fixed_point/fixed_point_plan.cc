#include "compiler/schedule/cpu/fixed_point/fixed_point_plan.h"

#include "base/ceil_div.h"

namespace mlc::schedule {

int64_t GroupOf(const ContractionProblem& problem) {
  if (problem.packed.block % 32 == 0) return 32;
  return problem.packed.block % 16 == 0 && problem.packed.bits >= 4 ? 16 : 0;
}

FixedPointPlan MakeFixedPointPlan(const ContractionProblem& problem, const target::Target& target,
                                  const Config& config) {
  FixedPointPlan plan;
  plan.lanes = target.cpu().Lanes(DType::kF32);
  plan.rows = static_cast<int>(config["mr"]);
  plan.vectors = static_cast<int>(config["nr"]);
  plan.column_chunks = config["col_chunks"];
  plan.prefetch = config["prefetch"];
  plan.parts = problem.packed.codes_a_byte();
  plan.group = GroupOf(problem);
  plan.groups = CeilDiv(problem.depth, plan.group);
  plan.groups_a_block = problem.packed.block / plan.group;
  plan.panels = CeilDiv(problem.columns, plan.width());
  return plan;
}

}  // namespace mlc::schedule
