#include "compiler/schedule/cpu/contraction/contraction_pack.h"

#include <algorithm>

namespace mlc::schedule {

using ir::ExprRef;
using ir::Int;

int64_t ColumnBatches(const ContractionProblem& problem) {
  int64_t count = 1;
  for (int b = 0; b < problem.batch_count; ++b) {
    const BatchAxis& axis = problem.batch[static_cast<size_t>(b)];
    if (axis.column_stride != 0) count *= axis.extent;
  }
  return count;
}

int64_t PackedPanelElements(const ContractionProblem& problem, const ContractionPlan& plan) {
  return problem.K() * plan.panel_width();
}

int64_t PackedElements(const ContractionProblem& problem, const ContractionPlan& plan) {
  return ColumnBatches(problem) * plan.panels * PackedPanelElements(problem, plan);
}

void EmitPack(const ContractionProblem& p, const ContractionPlan& plan, ir::BufferId source,
              ir::BufferId packed, ir::KernelBuilder& b) {
  const int64_t width = plan.panel_width();
  b.Parallel("pp", ColumnBatches(p) * plan.panels, [&](const ExprRef& index) {
    const ExprRef panel = b.Let("panel", ir::Mod(index, plan.panels));
    ExprRef rest = ir::FloorDiv(index, plan.panels);
    ExprRef from = panel * (width * p.column_stride);
    for (int i = p.batch_count - 1; i >= 0; --i) {
      const BatchAxis& axis = p.batch[static_cast<size_t>(i)];
      if (axis.column_stride == 0) continue;
      from = from + ir::Mod(rest, axis.extent) * axis.column_stride;
      rest = ir::FloorDiv(rest, axis.extent);
    }
    const ExprRef source_base = b.Let("from", from);
    const ExprRef target_base = b.Let("to", index * PackedPanelElements(p, plan));
    const ExprRef columns = b.Let("cols", Int(p.columns) - panel * width);
    b.For("kd", p.outer[0].taps, [&](const ExprRef& kd) {
      b.For("kh", p.outer[1].taps, [&](const ExprRef& kh) {
        b.For("kw", p.inner.taps, [&](const ExprRef& kw) {
          const ExprRef tap = (kd * p.outer[1].taps + kh) * p.inner.taps + kw;
          const ExprRef at = b.Let("at", source_base + kd * p.outer[0].tap_stride +
                                             kh * p.outer[1].tap_stride + kw * p.inner.tap_stride);
          b.For("k", p.depth, [&](const ExprRef& k) {
            b.Unrolled("v", plan.vectors, [&](const ExprRef& v) {
              const ExprRef column = v * int64_t{plan.lanes};
              ExprRef mask;
              if (p.columns % width != 0) {
                mask = ir::Max(Int(0), ir::Min(Int(plan.lanes), columns - column));
              }
              ExprRef value = b.Load(source, at + k * p.column_k_stride + column * p.column_stride,
                                     plan.lanes, std::max<int64_t>(1, p.column_stride), mask);
              if (p.column_dtype != DType::kF32) value = ir::MakeCast(DType::kF32, value);
              b.Store(packed, target_base + (tap * p.depth + k) * width + column, value);
            });
          });
        });
      });
    });
  });
}

Preparation PackPreparation(const graph::Workload& workload, const ContractionProblem& problem,
                            const ContractionPlan& plan) {
  ir::KernelBuilder builder("pack_columns");
  const graph::TensorType& type =
      workload.graph()[workload.operands()[static_cast<size_t>(problem.column_operand)]].type;
  const int64_t elements = PackedElements(problem, plan);
  const ir::BufferId source = builder.In("w", type.dtype, type.Extent());
  const ir::BufferId packed = builder.Out("packed", DType::kF32, elements);
  EmitPack(problem, plan, source, packed, builder);
  return {builder.Finish(), {problem.column_operand}, DType::kF32, elements};
}

}  // namespace mlc::schedule
