// Scalar operators over broadcast operands: floats in double, integers and logic in 64 bits.
#include <algorithm>
#include <atomic>
#include <cstring>
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

// An operand as numbers, or a part of it.
template <typename T>
struct Numbers {
  const T* at = nullptr;
  bool is_part = false;  // from the first element of the part on, in its order
};

// Elements [begin, end) of the result. False if the operator is not defined on the type.
template <typename T>
bool RunPart(const Value& node, const Space& space, std::span<const Numbers<T>> numbers,
             int64_t begin, int64_t end, T* out) {
  const int64_t length = space.dims.empty() ? 1 : space.dims.back();
  std::span<const int64_t> outer(space.dims);
  if (!outer.empty()) outer = outer.first(outer.size() - 1);
  std::vector<int64_t> at(outer.size(), 0);
  int64_t row = begin / length;
  for (size_t d = outer.size(); d-- > 0; row /= outer[d]) at[d] = row % outer[d];
  Rows<T> rows;
  Row<T>* row_of[] = {&rows.a, &rows.b, &rows.c};
  for (int64_t first = begin; first < end; first += rows.count, NextIndex(outer, at)) {
    const int64_t column = first % length;
    rows.count = std::min(length - column, end - first);
    rows.out = out + (first - begin);
    for (size_t i = 0; i < numbers.size(); ++i) {
      const std::vector<int64_t>& strides = space.strides[i];
      const int64_t stride = space.dims.empty() ? 0 : strides.back();
      int64_t offset = column * stride;
      for (size_t d = 0; d < at.size(); ++d) offset += at[d] * strides[d];
      if (numbers[i].is_part) offset -= begin;
      *row_of[i] = {numbers[i].at + offset, stride};
    }
    constexpr auto kOps = std::make_index_sequence<scalar::kRows.size()>();
    if (!RunRowOf<T>(node.scalar, rows, kOps)) return false;
  }
  return true;
}

Status NotDefined() { return Unimplemented("not defined on this element type"); }

template <typename T>
Result<std::vector<T>> Run(const Value& node, Operands operands,
                           const std::vector<std::vector<T>>& values) {
  std::vector<T> out(static_cast<size_t>(node.type.NumElements()));
  if (out.empty()) return out;
  std::vector<Numbers<T>> numbers;
  for (const std::vector<T>& value : values) numbers.push_back({value.data(), false});
  const Space space = Merge(node, operands);
  if (!RunPart<T>(node, space, numbers, 0, std::ssize(out), out.data())) return NotDefined();
  return out;
}

// The elements of a part and of its operands, as doubles, stay in the second-level cache.
constexpr int64_t kPart = 8192;
// Threads take longer to start than fewer parts to compute.
constexpr int64_t kSerialParts = 16;

// Elements [begin, begin + out.size()) of the operand.
void ReadPart(const TensorData& data, int64_t begin, std::span<double> out) {
  if (data.dtype != DType::kF32) {
    for (double& value : out) value = ReadDouble(data, begin++);
    return;
  }
  const std::byte* at = data.bytes.data() + static_cast<size_t>(begin) * sizeof(float);
  for (double& value : out) {
    float element = 0;
    std::memcpy(&element, at, sizeof(element));
    value = element;
    at += sizeof(element);
  }
}

// To the bytes from `at` on, as WriteDoubles has it.
void WritePart(DType dtype, std::span<const double> values, std::byte* at) {
  if (dtype != DType::kF32) {
    const TensorDataRef part = WriteDoubles(dtype, {std::ssize(values)}, values);
    std::memcpy(at, part->bytes.data(), part->bytes.size());
    return;
  }
  for (const double value : values) {
    const auto element = static_cast<float>(value);
    std::memcpy(at, &element, sizeof(element));
    at += sizeof(element);
  }
}

// In parts: of large operands only what a part needs is converted. Operands that are broadcast are
// converted whole.
Result<TensorDataRef> RunFloats(const Value& node, Operands operands, int threads) {
  const int64_t count = node.type.NumElements();
  const Space space = Merge(node, operands);
  std::vector<std::vector<double>> whole(operands.size());
  for (size_t i = 0; i < operands.size(); ++i) {
    if (CountOf(operands[i]->dims) != count) whole[i] = ReadDoubles(*operands[i]);
  }
  const auto size = static_cast<size_t>(SizeOf(node.type.dtype));
  std::vector<std::byte> bytes(static_cast<size_t>(count) * size);
  std::atomic<int64_t> next{0};
  std::atomic<bool> defined{true};
  const auto work = [&] {
    std::vector<std::vector<double>> parts(
        operands.size() + 1, std::vector<double>(static_cast<size_t>(std::min(kPart, count))));
    std::vector<Numbers<double>> numbers(operands.size());
    for (int64_t begin = kPart * next++; begin < count; begin = kPart * next++) {
      const int64_t end = std::min(begin + kPart, count);
      const auto length = static_cast<size_t>(end - begin);
      for (size_t i = 0; i < operands.size(); ++i) {
        const bool is_part = CountOf(operands[i]->dims) == count;
        if (is_part) ReadPart(*operands[i], begin, std::span(parts[i]).first(length));
        numbers[i] = {is_part ? parts[i].data() : whole[i].data(), is_part};
      }
      double* out = parts.back().data();
      if (!RunPart<double>(node, space, numbers, begin, end, out)) defined = false;
      WritePart(node.type.dtype, std::span(out, length),
                bytes.data() + static_cast<size_t>(begin) * size);
    }
  };
  const int64_t parts = (count + kPart - 1) / kPart;
  OnThreads(threads, parts < kSerialParts ? 1 : parts, work);
  if (!defined) return NotDefined();
  return MakeTensorData(node.type.dtype, node.type.dims, std::move(bytes));
}

}  // namespace

Result<TensorDataRef> EvaluatePointwise(const Value& node, Operands operands, int threads) {
  if (IsFloat(operands.back()->dtype)) return RunFloats(node, operands, threads);
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
