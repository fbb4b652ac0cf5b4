#include "compiler/schedule/cpu/contraction/contraction_chunk.h"

#include "compiler/schedule/cpu/contraction/contraction_pack.h"

namespace mlc::schedule {
namespace {

using ir::ExprRef;
using ir::Int;

void LocateBatch(const ContractionProblem& problem, const ContractionPlan& plan, ExprRef rest,
                 ContractionChunk& chunk, ir::KernelBuilder& builder) {
  chunk.at.assign(static_cast<size_t>(problem.rank), Int(0));
  chunk.row_batch = chunk.column_batch = chunk.column_group = Int(0);
  int64_t packed_stride = plan.panels * PackedPanelElements(problem, plan);
  for (int i = problem.batch_count - 1; i >= 0; --i) {
    const BatchAxis& axis = problem.batch[static_cast<size_t>(i)];
    const ExprRef at = builder.Let("b", i == 0 ? rest : ir::Mod(rest, axis.extent));
    rest = ir::FloorDiv(rest, axis.extent);
    chunk.row_batch = chunk.row_batch + at * axis.row_stride;
    if (plan.pack && axis.column_stride != 0) {
      chunk.column_batch = chunk.column_batch + at * packed_stride;
      packed_stride *= axis.extent;
    } else if (!plan.pack) {
      chunk.column_batch = chunk.column_batch + at * axis.column_stride;
    }
    if (axis.group) {
      chunk.column_group = at * problem.columns;
    } else {
      chunk.at[static_cast<size_t>(axis.dim)] = at;
    }
  }
}

}  // namespace

ContractionChunk LocateChunk(const ContractionProblem& problem, const ContractionPlan& plan,
                             const ExprRef& index, ir::KernelBuilder& builder) {
  ContractionChunk chunk;
  ExprRef rest = index;
  const auto take = [&](const char* name, int64_t extent) {
    const ExprRef value = builder.Let(name, ir::Mod(rest, extent));
    rest = ir::FloorDiv(rest, extent);
    return value;
  };
  if (plan.rows_first) {
    chunk.column_chunk = take("cc", plan.column_chunks);
    chunk.row_chunk = take("rc", plan.row_chunks);
  } else {
    chunk.row_chunk = take("rc", plan.row_chunks);
    chunk.column_chunk = take("cc", plan.column_chunks);
  }
  chunk.depth_at = take("d", problem.outer[0].out);
  LocateBatch(problem, plan, rest, chunk, builder);
  if (problem.outer[0].dim >= 0) {
    chunk.at[static_cast<size_t>(problem.outer[0].dim)] = chunk.depth_at;
  }
  return chunk;
}

}  // namespace mlc::schedule
