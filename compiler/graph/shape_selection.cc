// Shape rules of selections, whose results are as long as the most elements that may be selected.
#include "compiler/graph/shape.h"

namespace mlc::graph::shape_internal {

namespace {

Result<TensorType> InferNonZero(const Value& node, const TensorType& x) {
  if (x.dtype != DType::kBool || x.rank() != 1) return InvalidArgument("takes a vector of bool");
  if (node.type.rank() != 1 || node.type.dims[0] < x.dims[0]) {
    return InvalidArgument("its result has room for all elements");
  }
  return TensorType{DType::kI64, node.type.dims, {}};
}

Status CheckNumber(const TensorType& type, bool is_float) {
  if (type.dims == std::vector<int64_t>{1} &&
      (is_float ? IsFloat(type.dtype) : type.dtype == DType::kI64)) {
    return {};
  }
  return InvalidArgument("limits are vectors of one element, i64 or a float");
}

Result<TensorType> InferSuppress(const Value& node, Types operands) {
  const TensorType& boxes = *operands[0];
  const TensorType& scores = *operands[1];
  if (!IsFloat(boxes.dtype) || !IsFloat(scores.dtype)) return InvalidArgument("takes floats");
  if (boxes.rank() != 3 || scores.rank() != 3 || boxes.dims[2] != 4 ||
      boxes.dims[0] != scores.dims[0] || boxes.dims[1] != scores.dims[2]) {
    return InvalidArgument("boxes are [batch, boxes, 4], scores [batch, classes, boxes]");
  }
  MLC_TRY(CheckNumber(*operands[2], false));
  MLC_TRY(CheckNumber(*operands[3], true));
  MLC_TRY(CheckNumber(*operands[4], true));
  if (node.type.rank() != 3 || node.type.dims[0] != scores.dims[0] ||
      node.type.dims[1] != scores.dims[1] || node.type.dims[2] > scores.dims[2]) {
    return InvalidArgument("its result is [batch, classes, at most the boxes]");
  }
  return TensorType{DType::kI64, node.type.dims, {}};
}

}  // namespace

Result<TensorType> InferSelection(const Value& node, Types operands) {
  MLC_TRY(CheckType(node.type));
  return node.op == Op::kNonZero ? InferNonZero(node, *operands[0]) : InferSuppress(node, operands);
}

}  // namespace mlc::graph::shape_internal
