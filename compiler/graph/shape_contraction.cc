// Shape rules of products over windows and matrices.
#include <algorithm>

#include "base/text.h"
#include "compiler/graph/shape.h"

namespace mlc::graph::shape_internal {

namespace {

constexpr int64_t kMaxWindow = 1 << 20;

Status NeedFloat(const TensorType& type) {
  if (IsFloat(type.dtype)) return {};
  return InvalidArgument("takes floats, not " + std::string(ToText(type.dtype)));
}

bool OfBytes(const TensorType& a, const TensorType& b) {
  return a.dtype == DType::kU8 && b.dtype == DType::kI8;
}

// Equal types give theirs, u8 by i8 gives i32, float8 by float8 f32.
Result<DType> ProductType(const TensorType& a, const TensorType& b) {
  if (OfBytes(a, b)) return DType::kI32;
  if (IsFloat8(a.dtype) && IsFloat8(b.dtype)) return DType::kF32;
  if (a.dtype != b.dtype) return InvalidArgument("operands have different element types");
  return a.dtype;
}

// Of a product of scaled blocks (float8_product.h).
Status CheckBlocks(const Value& node, Types operands) {
  const bool has_sizes = node.Has("block") || node.Has("across");
  if (operands.size() == 2 && !has_sizes) return {};
  const auto is_absent = [](const TensorType* type) { return type == nullptr; };
  if (operands.size() != 4 || std::any_of(operands.begin(), operands.end(), is_absent)) {
    return InvalidArgument("scales of blocks are two operands");
  }
  const TensorType &x = *operands[0], &w = *operands[1];
  if (!IsFloat8(x.dtype) || !IsFloat8(w.dtype) || x.rank() != 2 || w.rank() != 2) {
    return InvalidArgument("only two matrices of float8 have scales of blocks");
  }
  if (!node.Has("block") || !node.Has("across") || node.Int("block") < 1 ||
      node.Int("across") < 1) {
    return InvalidArgument("block and across are positive");
  }
  const auto over = [](int64_t a, int64_t b) { return a / b + (a % b == 0 ? 0 : 1); };
  const int64_t blocks = over(x.dims[1], node.Int("block"));
  const TensorType of_x{DType::kF32, {x.dims[0], blocks}, {}};
  const TensorType of_w{DType::kF32, {blocks, over(w.dims[1], node.Int("across"))}, {}};
  for (const auto& [is, should] : {std::pair{operands[2], of_x}, std::pair{operands[3], of_w}}) {
    if (is->dtype == should.dtype && is->dims == should.dims) continue;
    return InvalidArgument("scales of blocks are " + should.ToText() + ", not " + is->ToText());
  }
  return {};
}

Result<TensorType> InferMatMul(const Value& node, Types operands) {
  MLC_TRY(CheckBlocks(node, operands));
  const TensorType& a = *operands[0];
  const TensorType& b = *operands[1];
  if (a.rank() < 2 || b.rank() < 2) return InvalidArgument("both operands have rank 2 or more");
  const DType dtype = MLC_TRY(ProductType(a, b));
  if (a.dims.back() != b.dims[b.dims.size() - 2]) {
    return InvalidArgument("inner dimensions of " + IntListToText(a.dims) + " and " +
                           IntListToText(b.dims) + " differ");
  }
  TensorType type;
  type.dtype = dtype;
  type.dims = MLC_TRY(BroadcastDims(std::vector<int64_t>(a.dims.begin(), a.dims.end() - 2),
                                    std::vector<int64_t>(b.dims.begin(), b.dims.end() - 2)));
  type.dims.push_back(a.dims[a.dims.size() - 2]);
  type.dims.push_back(b.dims.back());
  return type;
}

// Output size of each spatial dimension of a window moving over x.
Result<std::vector<int64_t>> WindowDims(const Value& node, const TensorType& x,
                                        std::span<const int64_t> kernel) {
  const size_t spatial = x.dims.size() - 2;
  const std::vector<int64_t>& strides = node.Ints("strides");
  const std::vector<int64_t>& dilations = node.Ints("dilations");
  const std::vector<int64_t>& pads = node.Ints("pads");
  if (kernel.size() != spatial || strides.size() != spatial || dilations.size() != spatial ||
      pads.size() != 2 * spatial) {
    return InvalidArgument("kernel, strides, dilations or pads do not fit the spatial rank");
  }
  std::vector<int64_t> dims(spatial);
  for (size_t i = 0; i < spatial; ++i) {
    const auto bad = [](int64_t v, int64_t low) { return v < low || v > kMaxWindow; };
    if (bad(kernel[i], 1) || bad(strides[i], 1) || bad(dilations[i], 1) || bad(pads[i], 0) ||
        bad(pads[spatial + i], 0)) {
      return InvalidArgument("kernel, strides, dilations or pads are out of range");
    }
    const int64_t reach = dilations[i] * (kernel[i] - 1) + 1;
    const int64_t padded = x.dims[i + 2] + pads[i] + pads[spatial + i];
    if (padded < reach) return InvalidArgument("the window is larger than the padded operand");
    dims[i] = (padded - reach) / strides[i] + 1;
  }
  return dims;
}

Result<TensorType> InferConv(const Value& node, Types operands) {
  const TensorType& x = *operands[0];
  const TensorType& w = *operands[1];
  if (x.rank() < 3 || x.rank() != w.rank()) {
    return InvalidArgument("operands have equal ranks of 3 or more");
  }
  const DType dtype = MLC_TRY(ProductType(x, w));
  if (!OfBytes(x, w)) MLC_TRY(NeedFloat(x));
  const int64_t group = node.Int("group");
  if (group < 1 || x.dims[1] % group != 0 || w.dims[0] % group != 0 ||
      w.dims[1] != x.dims[1] / group) {
    return InvalidArgument("channels " + std::to_string(x.dims[1]) + " do not fit weights " +
                           IntListToText(w.dims) + " in " + std::to_string(group) + " groups");
  }
  TensorType type;
  type.dtype = dtype;
  type.dims = {x.dims[0], w.dims[0]};
  const std::vector<int64_t> spatial =
      MLC_TRY(WindowDims(node, x, std::span<const int64_t>(w.dims).subspan(2)));
  type.dims.insert(type.dims.end(), spatial.begin(), spatial.end());
  return type;
}

Result<TensorType> InferPool(const Value& node, Types operands) {
  const TensorType& x = *operands[0];
  if (x.rank() < 3) return InvalidArgument("the operand has rank 3 or more");
  if (node.Word("kind") == "avg") MLC_TRY(NeedFloat(x));
  TensorType type;
  type.dtype = x.dtype;
  type.dims = {x.dims[0], x.dims[1]};
  const std::vector<int64_t> spatial = MLC_TRY(WindowDims(node, x, node.Ints("kernel")));
  type.dims.insert(type.dims.end(), spatial.begin(), spatial.end());
  return type;
}

Result<TensorType> InferAttention(Types operands) {
  const TensorType& q = *operands[0];
  const TensorType& k = *operands[1];
  const TensorType& v = *operands[2];
  if (q.rank() != 4 || k.rank() != 4 || v.rank() != 4) {
    return InvalidArgument("q, k and v have rank 4");
  }
  MLC_TRY(NeedFloat(q));
  if (k.dtype != q.dtype || v.dtype != q.dtype) {
    return InvalidArgument("operands have different element types");
  }
  for (size_t i = 0; i < 2; ++i) {
    if (k.dims[i] != q.dims[i] || v.dims[i] != q.dims[i]) {
      return InvalidArgument("batch or heads of q, k and v differ");
    }
  }
  if (k.dims[3] != q.dims[3] || v.dims[2] != k.dims[2]) {
    return InvalidArgument("q, k and v do not fit each other");
  }
  if (operands.size() > 3 && operands[3] != nullptr) {
    const TensorType& mask = *operands[3];
    if (mask.dtype != q.dtype) return InvalidArgument("the mask has another element type");
    const std::vector<int64_t> scores = {q.dims[0], q.dims[1], q.dims[2], k.dims[2]};
    if (MLC_TRY(BroadcastDims(scores, mask.dims)) != scores) {
      return InvalidArgument("the mask does not broadcast to the scores");
    }
  }
  if (operands.size() > 4 && operands[4] != nullptr) {
    const TensorType& count = *operands[4];
    if (count.dtype != DType::kI32 || count.dims != std::vector<int64_t>{1}) {
      return InvalidArgument("the number of keys is i32[1]");
    }
  }
  TensorType type;
  type.dtype = q.dtype;
  type.dims = {q.dims[0], q.dims[1], q.dims[2], v.dims[3]};
  return type;
}

}  // namespace

Result<TensorType> InferContraction(const Value& node, Types operands) {
  switch (node.op) {
    case Op::kMatMul:
      return InferMatMul(node, operands);
    case Op::kConv:
      return InferConv(node, operands);
    case Op::kPool:
      return InferPool(node, operands);
    default:
      return InferAttention(operands);
  }
}

}  // namespace mlc::graph::shape_internal
