// Shape rules of data movement.
#include <algorithm>

#include "base/text.h"
#include "compiler/graph/ops.h"
#include "compiler/graph/shape.h"

namespace mlc::graph::shape_internal {

namespace {

TensorType Typed(const TensorType& x, std::vector<int64_t> dims) {
  TensorType type;
  type.dtype = x.dtype;
  type.dims = std::move(dims);
  return type;
}

Result<TensorType> InferTranspose(const Value& node, const TensorType& x) {
  const std::vector<int64_t>& perm = node.Ints("perm");
  if (perm.size() != x.dims.size()) return InvalidArgument("perm has one entry per dimension");
  std::vector<bool> seen(perm.size(), false);
  std::vector<int64_t> dims;
  for (const int64_t axis : perm) {
    MLC_TRY(CheckAxis(axis, x.rank()));
    if (seen[static_cast<size_t>(axis)]) return InvalidArgument("perm repeats an axis");
    seen[static_cast<size_t>(axis)] = true;
    dims.push_back(x.dims[static_cast<size_t>(axis)]);
  }
  return Typed(x, std::move(dims));
}

Result<TensorType> InferReshape(const Value& node, const TensorType& x) {
  MLC_TRY(CheckType(node.type));
  TensorType type = Typed(x, node.type.dims);
  if (type.NumElements() == x.NumElements()) return type;
  return InvalidArgument("cannot reshape " + IntListToText(x.dims) + " to " +
                         IntListToText(type.dims));
}

Result<TensorType> InferExpand(const Value& node, const TensorType& x) {
  if (MLC_TRY(BroadcastDims(x.dims, node.type.dims)) == node.type.dims) {
    return Typed(x, node.type.dims);
  }
  return InvalidArgument("cannot expand " + IntListToText(x.dims) + " to " +
                         IntListToText(node.type.dims));
}

Result<TensorType> InferSlice(const Value& node, const TensorType& x) {
  const std::vector<int64_t>& starts = node.Ints("starts");
  const std::vector<int64_t>& steps = node.Ints("steps");
  const std::vector<int64_t>& sizes = node.type.dims;
  MLC_TRY(CheckType(node.type));
  if (starts.size() != x.dims.size() || steps.size() != x.dims.size() ||
      sizes.size() != x.dims.size()) {
    return InvalidArgument("starts, steps and sizes have one entry per dimension");
  }
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (steps[i] == 0) return InvalidArgument("a step is zero");
    if (sizes[i] == 0) continue;
    int64_t last = 0;
    if (__builtin_mul_overflow(sizes[i] - 1, steps[i], &last) ||
        __builtin_add_overflow(last, starts[i], &last) || starts[i] < 0 || starts[i] >= x.dims[i] ||
        last < 0 || last >= x.dims[i]) {
      return InvalidArgument("a slice leaves dimension " + std::to_string(i));
    }
  }
  return Typed(x, sizes);
}

Result<TensorType> InferConcat(const Value& node, Types operands) {
  const int64_t axis = node.Int("axis");
  MLC_TRY(CheckAxis(axis, operands[0]->rank()));
  TensorType type = Typed(*operands[0], operands[0]->dims);
  for (size_t i = 1; i < operands.size(); ++i) {
    std::vector<int64_t> dims = operands[i]->dims;
    if (operands[i]->dtype != type.dtype || dims.size() != type.dims.size()) {
      return InvalidArgument("operands differ in element type or rank");
    }
    const int64_t size = dims[static_cast<size_t>(axis)];
    dims[static_cast<size_t>(axis)] = type.dims[static_cast<size_t>(axis)];
    if (dims != type.dims) return InvalidArgument("operands differ outside the axis");
    type.dims[static_cast<size_t>(axis)] += size;
    if (type.dims[static_cast<size_t>(axis)] > kMaxElements) {
      return InvalidArgument("the result is too large");
    }
  }
  return type;
}

Result<TensorType> InferPad(const Value& node, const TensorType& x) {
  const std::vector<int64_t>& pads = node.Ints("pads");
  const std::string& mode = node.Word("mode");
  if (pads.size() != 2 * x.dims.size()) return InvalidArgument("pads has two per dimension");
  std::vector<int64_t> dims = x.dims;
  for (size_t i = 0; i < dims.size(); ++i) {
    const int64_t begin = pads[i], end = pads[dims.size() + i];
    dims[i] += begin + end;
    if (dims[i] < 0 || begin < -x.dims[i] || end < -x.dims[i]) {
      return InvalidArgument("pads crop more than dimension " + std::to_string(i));
    }
    const bool grows = begin > 0 || end > 0;
    if (mode != "constant" && grows && x.dims[i] == 0) {
      return InvalidArgument("an empty dimension cannot be padded from itself");
    }
  }
  return Typed(x, std::move(dims));
}

Result<TensorType> InferTile(const Value& node, const TensorType& x) {
  const std::vector<int64_t>& repeats = node.Ints("repeats");
  if (repeats.size() != x.dims.size()) return InvalidArgument("repeats has one per dimension");
  std::vector<int64_t> dims = x.dims;
  for (size_t i = 0; i < dims.size(); ++i) {
    if (repeats[i] < 0 || __builtin_mul_overflow(dims[i], repeats[i], &dims[i])) {
      return InvalidArgument("repeats are out of range");
    }
  }
  return Typed(x, std::move(dims));
}

Result<TensorType> InferResize(const Value& node, const TensorType& x) {
  const auto& scales = std::get<std::vector<double>>(node.attrs.find("scales")->second);
  if (scales.size() != x.dims.size() || node.type.dims.size() != x.dims.size()) {
    return InvalidArgument("scales and sizes have one entry per dimension");
  }
  for (size_t i = 0; i < scales.size(); ++i) {
    if (!(scales[i] > 0 && scales[i] < 1e9)) return InvalidArgument("scales are out of range");
    if (x.dims[i] == 0 && node.type.dims[i] != 0) {
      return InvalidArgument("an empty dimension cannot be resized");
    }
  }
  return Typed(x, node.type.dims);
}

}  // namespace

Result<TensorType> InferMovement(const Value& node, Types operands) {
  const TensorType& x = *operands[0];
  switch (node.op) {
    case Op::kTranspose:
      return InferTranspose(node, x);
    case Op::kReshape:
      return InferReshape(node, x);
    case Op::kExpand:
      return InferExpand(node, x);
    case Op::kSlice:
      return InferSlice(node, x);
    case Op::kConcat:
      return InferConcat(node, operands);
    case Op::kPad:
      return InferPad(node, x);
    case Op::kResize:
      return InferResize(node, x);
    case Op::kTile:
      return InferTile(node, x);
    default:  // kTrilu
      if (x.rank() < 2) return InvalidArgument("the operand has rank 2 or more");
      return Typed(x, x.dims);
  }
}

}  // namespace mlc::graph::shape_internal
