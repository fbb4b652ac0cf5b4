#include "compiler/schedule/cuda/row_reduce/row_plan.h"

#include <algorithm>

#include "base/ceil_div.h"
#include "compiler/schedule/cuda/tile/gpu_launch.h"

namespace mlc::schedule::gpu {

using graph::Op;
using graph::Workload;

namespace {

constexpr int kAccessBytes = 16;

// Bytes of the narrowest tensor that is read or written along the vectors.
int NarrowestBytes(const Workload& workload, const RowProblem& problem) {
  int bytes = 8;
  for (graph::ValueId id : problem.streams) {
    bytes = std::min(bytes, SizeOf(workload.graph()[id].type.dtype));
  }
  if (problem.same_space) {
    for (graph::ValueId id : workload.outputs()) {
      bytes = std::min(bytes, SizeOf(workload.graph()[id].type.dtype));
    }
  }
  return bytes;
}

}  // namespace

int64_t RowPlan::block_bytes() const {
  const int64_t each = SizeOf(problem.dtype);
  if (!problem.inner) return group > 1 ? int64_t{threads} * lanes * each : 0;
  return group > 32 ? 2 * threads / 32 * each : 0;
}

std::optional<RowProblem> FindGpuRows(const Workload& workload) {
  std::optional<RowProblem> problem = FindRowProblem(workload, 1);
  if (!problem) return problem;
  int lanes = std::min(8, kAccessBytes / NarrowestBytes(workload, *problem));
  for (; lanes > 1; lanes /= 2) {
    if (problem->Columns() % lanes != 0) continue;
    std::optional<RowProblem> wide = FindRowProblem(workload, lanes);
    if (wide && wide->lanes == lanes) return wide;
  }
  return problem;
}

bool IsSinglePass(const Workload& workload, const RowProblem& problem) {
  const graph::Value& node = workload.graph()[problem.anchor];
  return node.op == Op::kReduce && node.Word("kind") != "log_sum_exp";
}

RowPlan PlanRows(RowProblem problem, int lanes, int group, int threads, bool keep, int64_t splits) {
  RowPlan plan;
  plan.problem = std::move(problem);
  plan.lanes = std::min(lanes, plan.problem.lanes);
  plan.group = group;
  plan.threads = std::max(threads, group);
  plan.keep = keep;
  const int64_t columns = plan.column_vectors();
  plan.items = plan.problem.Rows() * (plan.problem.inner ? 1 : columns);
  plan.vectors = plan.problem.Reduced() * (plan.problem.inner ? columns : 1);
  const int64_t round = int64_t{plan.group} * kRowUnroll;
  plan.per_split =
      splits == 1 ? plan.vectors : CeilDiv(CeilDiv(plan.vectors, splits), round) * round;
  plan.splits = CeilDiv(plan.vectors, plan.per_split);
  return plan;
}

}  // namespace mlc::schedule::gpu
