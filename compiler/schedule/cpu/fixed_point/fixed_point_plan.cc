#include "compiler/schedule/cpu/fixed_point/fixed_point_plan.h"

#include "base/ceil_div.h"

namespace mlc::schedule {

namespace {

// Rounding to a digit errs by 1/254 of the largest element of a group at most.
constexpr double kRoundedTolerance = 1e-2;
// Fewer rows wait for memory, whatever their digits are.
constexpr int64_t kMinRoundedRows = 5;

}  // namespace

bool MayRoundRows(const graph::Workload& workload, const ContractionProblem& problem) {
  const graph::Value& node = workload.graph()[problem.anchor];
  return node.Has("precision") && node.Word("precision") == "i8" &&
         workload.tolerance() >= kRoundedTolerance && problem.inner.out >= kMinRoundedRows;
}

int64_t GroupOf(const ContractionProblem& problem) {
  if (problem.packed.block % 32 == 0) return 32;
  return problem.packed.block % 16 == 0 && problem.packed.bits >= 4 ? 16 : 0;
}

FixedPointPlan MakeFixedPointPlan(const graph::Workload& workload,
                                  const ContractionProblem& problem, const target::Target& target,
                                  const Config& config) {
  FixedPointPlan plan;
  if (MayRoundRows(workload, problem)) plan.digits = 1;
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
