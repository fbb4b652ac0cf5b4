#include "compiler/schedule/cuda/row_reduce/layer_norm_scale.h"

#include <utility>

#include "compiler/schedule/cuda/tile/gpu_launch.h"

namespace mlc::schedule::gpu {

using ir::ExprRef;

namespace {

// Operands of the layer norm.
constexpr size_t kScale = 1;
constexpr size_t kBias = 2;

// Registers of a block for rows with their scale and bias, a part of all.
constexpr int64_t kPreloaded = 24576;

}  // namespace

LayerNormScale::LayerNormScale(const graph::Workload& workload, const RowPlan& plan, Fused& fused,
                               ir::KernelBuilder& builder)
    : workload_(workload),
      plan_(plan),
      node_(workload.graph()[plan.problem.anchor]),
      fused_(fused),
      builder_(builder),
      preloads_(plan.keep && node_.op == graph::Op::kLayerNorm && IsWeight(kScale) &&
                IsWeight(kBias) && 3 * plan.slots() * plan.lanes * plan.threads <= kPreloaded) {
  if (!preloads_) return;
  scale_ = builder.Registers("scale", plan.problem.dtype, plan.lanes, plan.slots());
  bias_ = builder.Registers("bias", plan.problem.dtype, plan.lanes, plan.slots());
}

bool LayerNormScale::Has(size_t operand) const {
  return operand < node_.operands.size() && node_.operands[operand] != graph::kNoValue;
}

bool LayerNormScale::IsWeight(size_t operand) const {
  return Has(operand) && workload_.graph()[node_.operands[operand]].op == graph::Op::kWeight;
}

// The operand at a point of the row; its dimensions are the last ones of x.
ExprRef LayerNormScale::At(size_t operand, const Point& at) {
  const graph::ValueId id = node_.operands[operand];
  const int skip = static_cast<int>(plan_.problem.dims.size()) - workload_.graph()[id].type.rank();
  Point point = at;
  point.at.erase(point.at.begin(), point.at.begin() + skip);
  point.dim = at.dim - skip;
  if (point.dim < 0) point.lanes = 1;
  return Widened(fused_.Emit(id, point), plan_.lanes);
}

void LayerNormScale::Preload(RowSweep& sweep) {
  if (!preloads_) return;
  sweep.ForVectors([&](const RowVisit& visit) {
    builder_.Set(scale_, visit.slot, At(kScale, visit.point));
    builder_.Set(bias_, visit.slot, At(kBias, visit.point));
  });
}

ExprRef LayerNormScale::Apply(const RowVisit& visit, ExprRef value) {
  if (preloads_) {
    return ir::MakeApply(ScalarOp::kFma, {std::move(value), builder_.Get(scale_, visit.slot),
                                          builder_.Get(bias_, visit.slot)});
  }
  if (Has(kScale) && Has(kBias)) {
    return ir::MakeApply(ScalarOp::kFma,
                         {std::move(value), At(kScale, visit.point), At(kBias, visit.point)});
  }
  if (Has(kScale)) return Do(ScalarOp::kMul, std::move(value), At(kScale, visit.point));
  if (Has(kBias)) return Do(ScalarOp::kAdd, std::move(value), At(kBias, visit.point));
  return value;
}

}  // namespace mlc::schedule::gpu
