#include "compiler/graph/onnx/ops/packed_weights.h"

#include <algorithm>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "compiler/graph/onnx/decoded_weights.h"
#include "compiler/graph/tensor_io.h"

namespace mlc::graph::onnx {
namespace {

// The operands and attributes of a dequantize node.
struct Packed {
  TensorDataRef codes;   // [columns, bytes]
  TensorDataRef scales;  // [columns, blocks]
  TensorDataRef zeros;   // as the scales; may be null
  int64_t bits = 4;
  int64_t block = 1;
  int64_t depth = 1;
  int64_t zero = 0;
};

ValueId AddDequantize(Builder& b, const Packed& packed, DType dtype) {
  Value node;
  node.op = Op::kDequantize;
  node.operands = {b.Constant(packed.codes), b.Constant(packed.scales)};
  if (packed.zeros != nullptr) node.operands.push_back(b.Constant(packed.zeros));
  node.attrs["bits"] = packed.bits;
  node.attrs["block"] = packed.block;
  node.attrs["depth"] = packed.depth;
  node.attrs["zero"] = packed.zero;
  node.type.dtype = dtype;
  return b.Add(std::move(node));
}

int64_t CeilOver(int64_t x, int64_t y) { return x / y + (x % y == 0 ? 0 : 1); }

// The same bytes under other dims.
TensorDataRef Reshaped(const TensorDataRef& data, std::vector<int64_t> dims) {
  return std::make_shared<const TensorData>(
      TensorData{data->dtype, std::move(dims), data->bytes, data->owner});
}

int64_t Elements(const TensorData& data) {
  return static_cast<int64_t>(data.bytes.size()) / SizeOf(data.dtype);
}

bool IsScaleType(DType dtype) { return IsFloat(dtype) && dtype != DType::kF64; }

// How codes of a byte fit fewer bits: code + offset is not negative and has `bits` bits.
struct Range {
  int bits = 8;
  int64_t offset = 0;
};

bool Within(const std::vector<int64_t>& numbers, int64_t offset, int64_t limit) {
  return std::all_of(numbers.begin(), numbers.end(),
                     [&](int64_t x) { return x + offset >= 0 && x + offset < limit; });
}

Range RangeOf(const std::vector<int64_t>& codes, const std::vector<int64_t>& zeros, bool is_signed,
              const ByteCodes& form) {
  const bool one_block = form.codes->dims[static_cast<size_t>(form.axis)] <= form.block;
  for (const int bits : {2, 4}) {
    const int64_t offset = is_signed ? int64_t{1} << (bits - 1) : 0;
    const bool whole_bytes = one_block || form.block % (8 / bits) == 0;
    if (whole_bytes && Within(codes, offset, int64_t{1} << bits) && Within(zeros, offset, 256)) {
      return {bits, offset};
    }
  }
  return {8, is_signed ? 128 : 0};
}

// Rows of one byte a number, from `data` [rows, length] or its transpose.
std::vector<int64_t> InRows(const TensorData& data, bool is_transposed) {
  std::vector<int64_t> numbers = ReadInts(data);
  if (!is_transposed) return numbers;
  const auto length = static_cast<size_t>(data.dims[0]);
  const auto rows = static_cast<size_t>(data.dims[1]);
  std::vector<int64_t> turned(numbers.size());
  for (size_t k = 0; k < length; ++k) {
    for (size_t n = 0; n < rows; ++n) turned[n * length + k] = numbers[k * rows + n];
  }
  return turned;
}

TensorDataRef PackRows(const std::vector<int64_t>& numbers, int64_t rows, const Range& range) {
  const auto count = static_cast<size_t>(rows);
  const size_t length = numbers.size() / count;
  const auto a_byte = static_cast<size_t>(8 / range.bits);
  const size_t row_bytes = (length + a_byte - 1) / a_byte;
  std::vector<std::byte> bytes(count * row_bytes);
  for (size_t n = 0; n < count; ++n) {
    for (size_t k = 0; k < length; ++k) {
      const auto code = static_cast<unsigned>(numbers[n * length + k] + range.offset);
      const size_t shift = k % a_byte * static_cast<size_t>(range.bits);
      bytes[n * row_bytes + k / a_byte] |= static_cast<std::byte>(code << shift);
    }
  }
  return MakeTensorData(DType::kU8, {rows, static_cast<int64_t>(row_bytes)}, std::move(bytes));
}

// [rows, length] of float8 from its transpose.
TensorDataRef TurnedBytes(const TensorData& data) {
  const auto length = static_cast<size_t>(data.dims[0]);
  const auto rows = static_cast<size_t>(data.dims[1]);
  std::vector<std::byte> turned(data.bytes.size());
  for (size_t k = 0; k < length; ++k) {
    for (size_t n = 0; n < rows; ++n) turned[n * length + k] = data.bytes[k * rows + n];
  }
  return MakeTensorData(data.dtype, {data.dims[1], data.dims[0]}, std::move(turned));
}

TensorDataRef ScalesInRows(const TensorDataRef& scales, bool is_transposed) {
  if (!is_transposed) return scales;
  const std::vector<double> numbers = ReadDoubles(*scales);
  const auto blocks = static_cast<size_t>(scales->dims[0]);
  const auto rows = static_cast<size_t>(scales->dims[1]);
  std::vector<double> turned(numbers.size());
  for (size_t k = 0; k < blocks; ++k) {
    for (size_t n = 0; n < rows; ++n) turned[n * blocks + k] = numbers[k * rows + n];
  }
  return WriteDoubles(scales->dtype, {scales->dims[1], scales->dims[0]}, turned);
}

Packed Pack(const ByteCodes& form) {
  const bool is_transposed = form.axis == 0;
  const int64_t rows = form.codes->dims[is_transposed ? 1 : 0];
  const std::vector<int64_t> codes = InRows(*form.codes, is_transposed);
  std::vector<int64_t> zeros;
  if (form.zeros != nullptr) zeros = InRows(*form.zeros, is_transposed);
  const Range range = RangeOf(codes, zeros, form.codes->dtype == DType::kI8, form);
  Packed packed;
  packed.bits = range.bits;
  packed.depth = form.codes->dims[static_cast<size_t>(form.axis)];
  packed.zero = range.offset;
  const int64_t a_byte = 8 / range.bits;
  packed.block = std::min(form.block, CeilOver(packed.depth, a_byte) * a_byte);
  packed.codes = PackRows(codes, rows, range);
  packed.scales = ScalesInRows(form.scales, is_transposed);
  const bool one_zero =
      std::adjacent_find(zeros.begin(), zeros.end(), std::not_equal_to<>()) == zeros.end();
  if (!zeros.empty() && one_zero) packed.zero += zeros[0];
  if (!one_zero) packed.zeros = PackRows(zeros, rows, {8, range.offset});
  return packed;
}

Packed PackFloat8(const ByteCodes& form) {
  const bool is_transposed = form.axis == 0;
  Packed packed;
  packed.bits = 8;
  packed.depth = form.codes->dims[static_cast<size_t>(form.axis)];
  packed.block = std::min(form.block, packed.depth);
  packed.codes = is_transposed ? TurnedBytes(*form.codes) : form.codes;
  packed.scales = ScalesInRows(form.scales, is_transposed);
  return packed;
}

// Adds what `pack` gives, once.
ValueId AddOnce(OpContext& c, const ByteCodes& form, DType dtype,
                Packed (*pack)(const ByteCodes&)) {
  DecodingWay way = {{form.codes, form.scales, form.zeros},
                     {form.block, form.axis, static_cast<int64_t>(dtype)}};
  way.numbers.insert(way.numbers.end(), form.codes->dims.begin(), form.codes->dims.end());
  const int64_t bytes = form.codes->dims[0] * form.codes->dims[1] * SizeOf(dtype);
  const Result<ValueId> weights = c.decoded.Once(way, bytes, [&]() -> Result<ValueId> {
    const ValueId columns = AddDequantize(c.b, pack(form), dtype);
    return form.axis == 0 ? columns : c.b.Transpose(columns, {1, 0});
  });
  return weights.ok() ? *weights : c.b.Fail(weights.status());
}

// Zero points of packed rows, one byte or number each; null if they are none of the known forms.
TensorDataRef ZerosOf(const PackedRows& form, const TensorData& zeros, int64_t blocks,
                      DType scale_type) {
  if (zeros.dtype == DType::kU8) {
    const int64_t in_a_row = form.rows / form.zero_rows * blocks;
    const Result<TensorDataRef> unpacked =
        UnpackRows(zeros, form.bits, form.zero_rows, in_a_row, in_a_row);
    return unpacked.ok() ? Reshaped(*unpacked, {form.rows, blocks}) : nullptr;
  }
  if (zeros.dtype != scale_type || Elements(zeros) != form.rows * blocks) return nullptr;
  return std::make_shared<const TensorData>(
      TensorData{zeros.dtype, {form.rows, blocks}, zeros.bytes, zeros.owner});
}

}  // namespace

ValueId PackedBytes(OpContext& c, const ByteCodes& form, DType dtype) {
  return AddOnce(c, form, dtype, Pack);
}

ValueId PackedFloat8(OpContext& c, const ByteCodes& form, DType dtype) {
  return AddOnce(c, form, dtype, PackFloat8);
}

ValueId PackedColumns(OpContext& c, const PackedRows& form) {
  if (c.b.DTypeOf(c.In(form.packed)) != DType::kU8 ||
      !IsScaleType(c.b.DTypeOf(c.In(form.scales)))) {
    return kNoValue;
  }
  const TensorDataRef codes = c.DataIn(form.packed);
  const TensorDataRef scales = c.DataIn(form.scales);
  const TensorDataRef zeros = c.DataIn(form.zeros);
  if (!c.ok() || c.Has(form.order)) return kNoValue;
  Packed packed;
  packed.bits = form.bits;
  packed.block = form.block;
  packed.depth = form.inner;
  packed.zero = int64_t{1} << (form.bits - 1);
  const int64_t blocks = CeilOver(form.inner, form.block);
  const int64_t row_bytes = blocks * (form.block / (8 / form.bits));
  if (Elements(*codes) != form.rows * row_bytes) return kNoValue;
  if (Elements(*scales) != form.rows * blocks) return kNoValue;
  if (zeros != nullptr) {
    packed.zeros = ZerosOf(form, *zeros, blocks, scales->dtype);
    if (packed.zeros == nullptr) return kNoValue;
  }
  packed.codes = Reshaped(codes, {form.rows, row_bytes});
  packed.scales = Reshaped(scales, {form.rows, blocks});
  // Apart from the way of DecodedRows, which gives the transpose.
  const DecodingWay way = {
      {codes, scales, zeros},
      {form.bits, form.block, form.rows, form.inner, form.zero_rows, /*packed=*/1}};
  const Result<ValueId> weights = c.decoded.Once(
      way, form.rows * form.inner * SizeOf(scales->dtype),
      [&]() -> Result<ValueId> { return AddDequantize(c.b, packed, scales->dtype); });
  return weights.ok() ? *weights : c.b.Fail(weights.status());
}

}  // namespace mlc::graph::onnx
