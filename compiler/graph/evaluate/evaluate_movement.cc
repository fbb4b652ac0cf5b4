// Data movement on bytes: every operator here is a table of source offsets per dimension.
#include <algorithm>
#include <cstring>

#include "compiler/graph/evaluate/evaluate_internal.h"
#include "compiler/graph/tensor_io.h"

namespace mlc::graph::evaluate_internal {

namespace {

// tables[d][i]: what index i of output dimension d adds to the source offset; kFill where the
// output does not come from the source.
constexpr int64_t kFill = -1;
using Tables = std::vector<std::vector<int64_t>>;

TensorDataRef CopyMapped(const Value& node, const TensorData& from, const Tables& tables,
                         const std::vector<std::byte>& fill = {}) {
  const auto size = static_cast<size_t>(SizeOf(from.dtype));
  const std::vector<int64_t>& dims = node.type.dims;
  std::vector<std::byte> bytes(static_cast<size_t>(CountOf(dims)) * size);
  if (bytes.empty()) return MakeTensorData(from.dtype, dims, {});
  std::vector<int64_t> at(dims.size(), 0);
  std::byte* to = bytes.data();
  do {
    int64_t offset = 0;
    bool inside = true;
    for (size_t d = 0; d < at.size(); ++d) {
      const int64_t part = tables[d][static_cast<size_t>(at[d])];
      inside = inside && part != kFill;
      offset += part;
    }
    std::memcpy(to, inside ? from.bytes.data() + static_cast<size_t>(offset) * size : fill.data(),
                size);
    to += size;
  } while (NextIndex(dims, at));
  return MakeTensorData(from.dtype, dims, std::move(bytes));
}

// One table per dimension from f(dimension, index).
template <typename F>
Tables MakeTables(const std::vector<int64_t>& dims, F f) {
  Tables tables(dims.size());
  for (size_t d = 0; d < dims.size(); ++d) {
    for (int64_t i = 0; i < dims[d]; ++i) tables[d].push_back(f(d, i));
  }
  return tables;
}

// The source index of a padded one; kFill outside.
int64_t PadIndex(const std::string& mode, int64_t i, int64_t size) {
  if (i >= 0 && i < size) return i;
  if (mode == "constant") return kFill;
  if (mode == "edge") return i < 0 ? 0 : size - 1;
  if (mode == "wrap") return (i % size + size) % size;
  if (size == 1) return 0;
  const int64_t period = 2 * (size - 1);  // reflect
  const int64_t phase = (i % period + period) % period;
  return std::min(phase, period - phase);
}

TensorDataRef Pad(const Value& node, const TensorData& from) {
  const std::vector<int64_t> strides = DenseStrides(from.dims);
  const std::vector<int64_t>& pads = node.Ints("pads");
  const double value[] = {node.Float("value")};
  const TensorDataRef fill = WriteDoubles(from.dtype, {}, value);
  const Tables tables = MakeTables(node.type.dims, [&](size_t d, int64_t i) {
    const int64_t index = PadIndex(node.Word("mode"), i - pads[d], from.dims[d]);
    return index == kFill ? kFill : index * strides[d];
  });
  return CopyMapped(node, from, tables, {fill->bytes.begin(), fill->bytes.end()});
}

TensorDataRef Concat(const Value& node, Operands operands) {
  const auto axis = static_cast<size_t>(node.Int("axis"));
  const auto size = static_cast<size_t>(SizeOf(node.type.dtype));
  const auto block = [&](const std::vector<int64_t>& dims) {
    return static_cast<size_t>(CountOf(std::span<const int64_t>(dims).subspan(axis))) * size;
  };
  const size_t row = block(node.type.dims);
  const int64_t rows = CountOf(std::span<const int64_t>(node.type.dims).first(axis));
  std::vector<std::byte> bytes(static_cast<size_t>(rows) * row);
  size_t column = 0;
  for (const TensorDataRef& operand : operands) {
    const size_t width = block(operand->dims);
    for (size_t r = 0; width > 0 && r < static_cast<size_t>(rows); ++r) {
      std::memcpy(bytes.data() + r * row + column, operand->bytes.data() + r * width, width);
    }
    column += width;
  }
  return MakeTensorData(node.type.dtype, node.type.dims, std::move(bytes));
}

TensorDataRef Trilu(const Value& node, const TensorData& from) {
  const size_t rank = from.dims.size();
  const int64_t rows = from.dims[rank - 2], columns = from.dims[rank - 1], k = node.Int("k");
  const bool upper = node.Int("upper") != 0;
  const auto size = static_cast<size_t>(SizeOf(from.dtype));
  std::vector<std::byte> bytes(from.bytes.begin(), from.bytes.end());
  const int64_t count = CountOf(from.dims);
  for (int64_t i = 0; i < count; ++i) {
    const int64_t row = i / columns % rows, column = i % columns;
    const bool keep = upper ? column - row >= k : column - row <= k;
    if (!keep) std::memset(bytes.data() + static_cast<size_t>(i) * size, 0, size);
  }
  return MakeTensorData(from.dtype, from.dims, std::move(bytes));
}

}  // namespace

Result<TensorDataRef> EvaluateMovement(const Value& node, Operands operands) {
  const TensorData& from = *operands[0];
  const std::vector<int64_t> strides = DenseStrides(from.dims);
  switch (node.op) {
    case Op::kReshape: {
      auto result = std::make_shared<TensorData>(from);
      result->dims = node.type.dims;
      return TensorDataRef(std::move(result));
    }
    case Op::kTranspose: {
      const std::vector<int64_t>& perm = node.Ints("perm");
      return CopyMapped(node, from, MakeTables(node.type.dims, [&](size_t d, int64_t i) {
                          return i * strides[static_cast<size_t>(perm[d])];
                        }));
    }
    case Op::kExpand: {
      const std::vector<int64_t> broadcast = BroadcastStrides(from.dims, node.type.dims);
      return CopyMapped(node, from, MakeTables(node.type.dims, [&](size_t d, int64_t i) {
                          return i * broadcast[d];
                        }));
    }
    case Op::kSlice: {
      const std::vector<int64_t>& starts = node.Ints("starts");
      const std::vector<int64_t>& steps = node.Ints("steps");
      return CopyMapped(node, from, MakeTables(node.type.dims, [&](size_t d, int64_t i) {
                          return (starts[d] + i * steps[d]) * strides[d];
                        }));
    }
    case Op::kTile:
      return CopyMapped(node, from, MakeTables(node.type.dims, [&](size_t d, int64_t i) {
                          return i % from.dims[d] * strides[d];
                        }));
    case Op::kPad:
      return Pad(node, from);
    case Op::kConcat:
      return Concat(node, operands);
    default:
      return Trilu(node, from);
  }
}

Result<TensorDataRef> EvaluateView(const Value& node, const TensorType& operand_type,
                                   const TensorData& operand) {
  constexpr int64_t kMaxStorage = int64_t{1} << 32;
  const int64_t extent = operand_type.Extent();
  if (extent > kMaxStorage) return ResourceExhausted("the storage is too large to evaluate");
  const auto size = static_cast<size_t>(SizeOf(operand.dtype));
  std::vector<std::byte> storage(static_cast<size_t>(extent) * size);
  const std::vector<int64_t> from = operand_type.EffectiveStrides();
  const std::byte* element = operand.bytes.data();
  std::vector<int64_t> at(operand.dims.size(), 0);
  if (!operand.bytes.empty()) {
    do {
      int64_t offset = 0;
      for (size_t d = 0; d < at.size(); ++d) offset += at[d] * from[d];
      std::memcpy(storage.data() + static_cast<size_t>(offset) * size, element, size);
      element += size;
    } while (NextIndex(operand.dims, at));
  }
  TensorData source;
  source.dtype = operand.dtype;
  source.bytes = std::span<const std::byte>(storage).subspan(
      std::min(static_cast<size_t>(node.Int("offset")) * size, storage.size()));
  const std::vector<int64_t> to = node.type.EffectiveStrides();
  return CopyMapped(node, source,
                    MakeTables(node.type.dims, [&](size_t d, int64_t i) { return i * to[d]; }));
}

}  // namespace mlc::graph::evaluate_internal
