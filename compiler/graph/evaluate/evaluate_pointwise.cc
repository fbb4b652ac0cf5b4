// Scalar operators over broadcast operands: floats in double, integers and logic in 64 bits.
#include <type_traits>
#include <utility>

#include "compiler/graph/evaluate/evaluate_internal.h"
#include "compiler/graph/tensor_io.h"
#include "compiler/types/scalar_op.h"

namespace mlc::graph::evaluate_internal {

namespace {

// One row of each operand; stride 0 repeats the element.
template <typename T>
struct Row {
  const T* at = nullptr;
  int64_t stride = 0;
  T operator[](int64_t i) const { return at[i * stride]; }
};

template <typename T>
struct Rows {
  Row<T> a, b, c;
  T* out = nullptr;
  int64_t count = 0;
};

// Of uint64_t: the function on int64_t, for what scalar::ApplyUnsigned leaves.
template <typename T>
constexpr const auto& FunctionOf(const ScalarOpInfo& info) {
  if constexpr (std::is_same_v<T, double>) {
    return info.real.exact;
  } else {
    return info.integer;
  }
}

// Elements of u64, whose order and quotients are not those of i64.
template <size_t kOp>
uint64_t UnsignedResult(uint64_t a, uint64_t b, uint64_t c) {
  constexpr ScalarFunction<int64_t> kFunction = scalar::kRows[kOp].integer;
  [[maybe_unused]] const int64_t x = scalar::Wrap(a), y = scalar::Wrap(b), z = scalar::Wrap(c);
  int64_t result = 0;
  if (scalar::ApplyUnsigned(static_cast<ScalarOp>(kOp), x, y, &result)) return scalar::Bits(result);
  if constexpr (kFunction.arity == 1) result = kFunction.one(x);
  if constexpr (kFunction.arity == 2) result = kFunction.two(x, y);
  if constexpr (kFunction.arity == 3) result = kFunction.three(x, y, z);
  return scalar::Bits(result);
}

// One loop for each operator, so that its function is inlined. False if the operator is not
// defined on the type. REQUIRES: no divisor of integers is zero.
template <typename T, size_t kOp>
bool RunRow(const Rows<T>& rows) {
  constexpr auto kFunction = FunctionOf<T>(scalar::kRows[kOp]);
  for (int64_t i = 0; i < rows.count; ++i) {
    if constexpr (std::is_same_v<T, uint64_t>) {
      rows.out[i] = UnsignedResult<kOp>(rows.a[i], kFunction.arity > 1 ? rows.b[i] : 0,
                                        kFunction.arity > 2 ? rows.c[i] : 0);
    } else if constexpr (kFunction.arity == 1) {
      rows.out[i] = kFunction.one(rows.a[i]);
    } else if constexpr (kFunction.arity == 2) {
      rows.out[i] = kFunction.two(rows.a[i], rows.b[i]);
    } else if constexpr (kFunction.arity == 3) {
      rows.out[i] = kFunction.three(rows.a[i], rows.b[i], rows.c[i]);
    }
  }
  return kFunction.arity != 0;
}

template <typename T, size_t... kOps>
bool RunRowOf(ScalarOp op, const Rows<T>& rows, std::index_sequence<kOps...> /*ops*/) {
  static constexpr bool (*kLoops[])(const Rows<T>&) = {RunRow<T, kOps>...};
  return kLoops[static_cast<size_t>(op)](rows);
}

// The index space with adjacent dimensions merged where every operand allows it.
struct Space {
  std::vector<int64_t> dims;
  std::vector<std::vector<int64_t>> strides;  // [operand][dimension]
};

Space Merge(const Value& node, Operands operands) {
  Space space;
  space.strides.resize(operands.size());
  std::vector<std::vector<int64_t>> full;
  for (const TensorDataRef& operand : operands) {
    full.push_back(BroadcastStrides(operand->dims, node.type.dims));
  }
  for (size_t d = 0; d < node.type.dims.size(); ++d) {
    const int64_t dim = node.type.dims[d];
    if (dim == 1) continue;
    bool merges = !space.dims.empty();
    for (size_t i = 0; merges && i < full.size(); ++i) {
      merges = space.strides[i].back() == full[i][d] * dim;
    }
    if (merges) {
      space.dims.back() *= dim;
    } else {
      space.dims.push_back(dim);
    }
    for (size_t i = 0; i < full.size(); ++i) {
      if (merges) space.strides[i].pop_back();
      space.strides[i].push_back(full[i][d]);
    }
  }
  return space;
}

template <typename T>
Result<std::vector<T>> Run(const Value& node, Operands operands,
                           const std::vector<std::vector<T>>& values) {
  std::vector<T> out(static_cast<size_t>(node.type.NumElements()));
  if (out.empty()) return out;
  Space space = Merge(node, operands);
  const bool scalar = space.dims.empty();
  Rows<T> rows;
  rows.count = scalar ? 1 : space.dims.back();
  Row<T>* row_of[] = {&rows.a, &rows.b, &rows.c};
  for (size_t i = 0; i < values.size(); ++i) {
    row_of[i]->stride = scalar ? 0 : space.strides[i].back();
  }
  std::span<const int64_t> outer(space.dims);
  if (!scalar) outer = outer.first(outer.size() - 1);
  std::vector<int64_t> at(outer.size(), 0);
  rows.out = out.data();
  do {
    for (size_t i = 0; i < values.size(); ++i) {
      int64_t offset = 0;
      for (size_t d = 0; d < at.size(); ++d) offset += at[d] * space.strides[i][d];
      row_of[i]->at = values[i].data() + offset;
    }
    constexpr auto kOps = std::make_index_sequence<scalar::kRows.size()>();
    if (!RunRowOf<T>(node.scalar, rows, kOps))
      return Unimplemented("not defined on this element type");
    rows.out += rows.count;
  } while (NextIndex(outer, at));
  return out;
}

}  // namespace

Result<TensorDataRef> EvaluatePointwise(const Value& node, Operands operands) {
  if (IsFloat(operands.back()->dtype)) {
    std::vector<std::vector<double>> values;
    for (const TensorDataRef& operand : operands) values.push_back(ReadDoubles(*operand));
    const std::vector<double> out = MLC_TRY(Run<double>(node, operands, values));
    return WriteDoubles(node.type.dtype, node.type.dims, out);
  }
  std::vector<std::vector<int64_t>> values;
  for (const TensorDataRef& operand : operands) values.push_back(ReadInts(*operand));
  if (node.scalar == ScalarOp::kDiv || node.scalar == ScalarOp::kMod) {
    for (const int64_t divisor : values[1]) {
      if (divisor == 0) return InvalidArgument("division of an integer by zero");
    }
  }
  if (operands.back()->dtype == DType::kU64) {
    std::vector<std::vector<uint64_t>> bits;
    for (const std::vector<int64_t>& row : values) bits.emplace_back(row.begin(), row.end());
    const std::vector<uint64_t> found = MLC_TRY(Run<uint64_t>(node, operands, bits));
    return WriteInts(node.type.dtype, node.type.dims,
                     std::vector<int64_t>(found.begin(), found.end()));
  }
  const std::vector<int64_t> out = MLC_TRY(Run<int64_t>(node, operands, values));
  return WriteInts(node.type.dtype, node.type.dims, out);
}

Result<TensorDataRef> EvaluateCast(const Value& node, Operands operands) {
  const TensorData& from = *operands[0];
  if (from.dtype == node.type.dtype) return operands[0];
  const bool from_u64 = from.dtype == DType::kU64 && IsFloat(node.type.dtype);
  if (IsFloat(from.dtype) || from_u64)
    return WriteDoubles(node.type.dtype, from.dims, ReadDoubles(from));
  return WriteInts(node.type.dtype, from.dims, ReadInts(from));
}

}  // namespace mlc::graph::evaluate_internal
