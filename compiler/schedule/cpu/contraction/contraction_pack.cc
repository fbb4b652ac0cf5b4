#include "compiler/schedule/cpu/contraction/contraction_pack.h"

#include <algorithm>
#include <memory>

namespace mlc::schedule {

using ir::ExprRef;
using ir::Int;

namespace {

ExprRef LoadElements(const ContractionProblem& p, const ContractionPlan& plan, ir::BufferId source,
                     const ExprRef& at, const ExprRef& mask, ir::KernelBuilder& b) {
  const ExprRef value = b.Load(source, at, plan.lanes, std::max<int64_t>(1, p.column_stride), mask);
  return p.column_dtype == p.SumType() ? value : ir::MakeCast(p.SumType(), value);
}

ExprRef WordSplat(int64_t value, int lanes) {
  const auto one = std::make_shared<const ir::Expr>(ir::Expr{{DType::kI32, 1}, ir::IntImm{value}});
  return ir::MakeBroadcast(one, lanes);
}

// Word k of each column: four bytes, the first in the low bits.
ExprRef LoadWords(const ContractionProblem& p, const ContractionPlan& plan, ir::BufferId source,
                  const ExprRef& at, const ExprRef& k, const ExprRef& mask, ir::KernelBuilder& b) {
  ExprRef words;
  for (int64_t byte = 0; byte < 4; ++byte) {
    const ExprRef from = at + (k * int64_t{4} + byte) * p.column_k_stride;
    const ExprRef bits = ir::MakeApply(
        ScalarOp::kAnd, {LoadElements(p, plan, source, from, mask, b), WordSplat(255, plan.lanes)});
    const ExprRef placed = ir::MakeApply(
        ScalarOp::kMul, {bits, WordSplat(static_cast<int32_t>(1u << (8 * byte)), plan.lanes)});
    words = words ? ir::MakeApply(ScalarOp::kOr, {words, placed}) : placed;
  }
  return words;
}

}  // namespace

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
              const ExprRef from = at + column * p.column_stride;
              b.Store(packed, target_base + (tap * p.depth + k) * width + column,
                      p.of_bytes
                          ? LoadWords(p, plan, source, from, k, mask, b)
                          : LoadElements(p, plan, source,
                                         at + k * p.column_k_stride + column * p.column_stride,
                                         mask, b));
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
  const ir::BufferId packed = builder.Out("packed", problem.SumType(), elements);
  EmitPack(problem, plan, source, packed, builder);
  return {builder.Finish(), {problem.column_operand}, problem.SumType(), elements};
}

}  // namespace mlc::schedule
