// Shape rules of reductions and normalisations.
#include <algorithm>

#include "compiler/graph/shape.h"

namespace mlc::graph::shape_internal {

namespace {

TensorType Drop(const TensorType& x, const std::vector<int64_t>& axes, bool keepdims) {
  TensorType type;
  type.dtype = x.dtype;
  for (int i = 0; i < x.rank(); ++i) {
    const bool reduced = std::find(axes.begin(), axes.end(), i) != axes.end();
    if (!reduced) type.dims.push_back(x.dims[static_cast<size_t>(i)]);
    if (reduced && keepdims) type.dims.push_back(1);
  }
  return type;
}

Result<TensorType> InferReduce(const Value& node, const TensorType& x) {
  const std::vector<int64_t>& axes = node.Ints("axes");
  for (size_t i = 0; i < axes.size(); ++i) {
    MLC_TRY(CheckAxis(axes[i], x.rank()));
    if (i > 0 && axes[i] <= axes[i - 1]) return InvalidArgument("axes are ascending");
  }
  return Drop(x, axes, node.Int("keepdims") != 0);
}

Result<TensorType> InferLayerNorm(const Value& node, Types operands) {
  const TensorType& x = *operands[0];
  const int64_t axis = node.Int("axis");
  MLC_TRY(CheckAxis(axis, x.rank()));
  if (!IsFloat(x.dtype)) return InvalidArgument("takes floats");
  const std::vector<int64_t> normalized(x.dims.begin() + axis, x.dims.end());
  for (size_t i = 1; i < operands.size(); ++i) {
    if (operands[i] == nullptr) continue;
    if (operands[i]->dtype != x.dtype) {
      return InvalidArgument("scale or bias has another element type");
    }
    if (MLC_TRY(BroadcastDims(normalized, operands[i]->dims)) != normalized) {
      return InvalidArgument("scale or bias does not fit the normalised dimensions");
    }
  }
  TensorType type = x;
  type.strides.clear();
  return type;
}

}  // namespace

Result<TensorType> InferReduction(const Value& node, Types operands) {
  const TensorType& x = *operands[0];
  if (node.op == Op::kReduce) return InferReduce(node, x);
  if (node.op == Op::kLayerNorm) return InferLayerNorm(node, operands);
  MLC_TRY(CheckAxis(node.Int("axis"), x.rank()));
  if (node.op == Op::kArg) {
    TensorType type = Drop(x, {node.Int("axis")}, node.Int("keepdims") != 0);
    type.dtype = DType::kI64;
    if (x.dims[static_cast<size_t>(node.Int("axis"))] == 0) {
      return InvalidArgument("there is no element to choose");
    }
    return type;
  }
  if (node.op != Op::kCumSum && !IsFloat(x.dtype)) return InvalidArgument("takes floats");
  TensorType type = x;
  type.strides.clear();
  return type;
}

}  // namespace mlc::graph::shape_internal
