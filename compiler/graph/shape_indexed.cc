// Shape rules of gathers and scatters.
#include "base/text.h"
#include "compiler/graph/shape.h"

namespace mlc::graph::shape_internal {

namespace {

Status NeedIndices(const TensorType& type) {
  if (type.dtype == DType::kI64 || type.dtype == DType::kI32) return {};
  return InvalidArgument("indices are i32 or i64");
}

Result<TensorType> InferGather(const Value& node, const TensorType& data,
                               const TensorType& indices) {
  const int64_t axis = node.Int("axis");
  MLC_TRY(CheckAxis(axis, data.rank()));
  TensorType type;
  type.dtype = data.dtype;
  type.dims.assign(data.dims.begin(), data.dims.begin() + axis);
  type.dims.insert(type.dims.end(), indices.dims.begin(), indices.dims.end());
  type.dims.insert(type.dims.end(), data.dims.begin() + axis + 1, data.dims.end());
  return type;
}

Status CheckElements(int64_t axis, const TensorType& data, const TensorType& indices) {
  MLC_TRY(CheckAxis(axis, data.rank()));
  if (indices.rank() != data.rank()) return InvalidArgument("data and indices have equal ranks");
  for (int64_t i = 0; i < data.rank(); ++i) {
    const auto d = static_cast<size_t>(i);
    if (i != axis && indices.dims[d] > data.dims[d]) {
      return InvalidArgument("indices are larger than data outside the axis");
    }
  }
  return {};
}

Result<TensorType> InferGatherND(const Value& node, const TensorType& data,
                                 const TensorType& indices) {
  const int64_t batch = node.Int("batch_dims");
  if (indices.rank() < 1 || batch < 0 || batch >= indices.rank() || batch > data.rank()) {
    return InvalidArgument("batch_dims is out of range");
  }
  const int64_t depth = indices.dims.back();
  if (depth > data.rank() - batch) return InvalidArgument("indices are longer than data's rank");
  for (int64_t i = 0; i < batch; ++i) {
    if (data.dims[static_cast<size_t>(i)] != indices.dims[static_cast<size_t>(i)]) {
      return InvalidArgument("batch dimensions differ");
    }
  }
  TensorType type;
  type.dtype = data.dtype;
  type.dims.assign(indices.dims.begin(), indices.dims.end() - 1);
  type.dims.insert(type.dims.end(), data.dims.begin() + batch + depth, data.dims.end());
  return type;
}

Status CheckScatterND(const TensorType& data, const TensorType& indices,
                      const TensorType& updates) {
  if (indices.rank() < 1 || indices.dims.back() > data.rank()) {
    return InvalidArgument("indices do not fit data's rank");
  }
  std::vector<int64_t> expected(indices.dims.begin(), indices.dims.end() - 1);
  expected.insert(expected.end(), data.dims.begin() + indices.dims.back(), data.dims.end());
  if (updates.dims != expected) {
    return InvalidArgument("updates have shape " + IntListToText(updates.dims) + " instead of " +
                           IntListToText(expected));
  }
  return {};
}

}  // namespace

Result<TensorType> InferIndexed(const Value& node, Types operands) {
  const TensorType& data = *operands[0];
  const TensorType& indices = *operands[1];
  MLC_TRY(NeedIndices(indices));
  TensorType type;
  type.dtype = data.dtype;
  type.dims = data.dims;
  switch (node.op) {
    case Op::kGather:
      return InferGather(node, data, indices);
    case Op::kGatherElements:
      MLC_TRY(CheckElements(node.Int("axis"), data, indices));
      type.dims = indices.dims;
      return type;
    case Op::kGatherND:
      return InferGatherND(node, data, indices);
    case Op::kScatterElements:
      MLC_TRY(CheckElements(node.Int("axis"), data, indices));
      if (operands[2]->dims != indices.dims) {
        return InvalidArgument("updates and indices have equal shapes");
      }
      break;
    default:
      MLC_TRY(CheckScatterND(data, indices, *operands[2]));
  }
  if (operands[2]->dtype != data.dtype) {
    return InvalidArgument("updates have another element type");
  }
  return type;
}

}  // namespace mlc::graph::shape_internal
