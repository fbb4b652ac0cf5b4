#include "compiler/schedule/cpu/contraction/contraction_plan.h"

#include "compiler/schedule/cpu/contraction/contraction_segments.h"

namespace mlc::schedule {

bool ColumnsInPlace(const ContractionProblem& problem, int64_t panel_width) {
  return !problem.convolution && problem.column_stride == 1 && problem.columns % panel_width == 0;
}

bool HasPasses(const ContractionProblem& problem) {
  return problem.Taps() == 1 && problem.inner.Trivial() && problem.outer[0].Trivial() &&
         problem.outer[1].Trivial();
}

int64_t StagedElements(const ContractionProblem& problem, const ContractionPlan& plan) {
  return plan.stage ? problem.outer[1].out * problem.inner.out * plan.pitch(problem) : 0;
}

int64_t PartialElements(const ContractionProblem& problem, const ContractionPlan& plan) {
  if (plan.k_chunk == 0) return 0;
  const int64_t panels = (plan.panels + plan.column_chunks - 1) / plan.column_chunks;
  return panels * problem.outer[1].out * problem.inner.out * plan.panel_width();
}

int64_t DecodedElements(const ContractionProblem& problem, const ContractionPlan& plan) {
  return plan.decode ? plan.pass_depth(problem) * plan.panel_width() : 0;
}

ContractionPlan MakePlan(const ContractionProblem& problem, const target::Target& target,
                         const Config& config) {
  ContractionPlan plan;
  plan.lanes = target.cpu().Lanes(DType::kF32);
  plan.inner_rows = static_cast<int>(config["mr"]);
  plan.outer_rows = static_cast<int>(config["mh"]);
  plan.vectors = static_cast<int>(config["nr"]);
  plan.rows_first = config["rows_first"] != 0;
  plan.row_chunks = config["row_chunks"];
  plan.column_chunks = config["col_chunks"];
  plan.unroll = static_cast<int>(config["unroll"]);
  plan.prefetch = static_cast<int>(config["prefetch"]);
  plan.fetched_beyond_bytes = target.cpu().threads * target.cpu().l2_bytes;
  plan.pack = config["pack"] != 0;
  plan.k_chunk = config["k_chunk"];
  plan.stage = config["stage"] != 0;
  plan.prefetch_panel = config["prefetch_panel"] != 0;
  plan.decode = problem.IsPacked() && config["decode"] != 0;
  plan.panels = (problem.columns + plan.panel_width() - 1) / plan.panel_width();
  const bool two_axes = problem.outer[1].dim >= 0;
  plan.row_units = two_axes ? TileCount(problem.outer[1], plan.outer_rows)
                            : TileCount(problem.inner, plan.inner_rows);
  return plan;
}

}  // namespace mlc::schedule
