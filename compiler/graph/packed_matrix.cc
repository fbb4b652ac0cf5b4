#include "compiler/graph/packed_matrix.h"

#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "base/ceil_div.h"
#include "compiler/graph/float8_codes.h"
#include "compiler/graph/tensor_io.h"

namespace mlc::graph {

namespace {

constexpr int64_t kMaxBlock = int64_t{1} << 30;

bool IsScaleType(DType dtype) { return IsFloat(dtype) && dtype != DType::kF64; }

Status CheckForm(const Value& node, const PackedMatrix& m) {
  if (m.bits != 2 && m.bits != 4 && m.bits != 8) {
    return InvalidArgument("codes have 2, 4 or 8 bits, not " + std::to_string(node.Int("bits")));
  }
  if (m.depth < 1) return InvalidArgument("a column needs at least one code");
  if (m.block < 1 || m.block > kMaxBlock || m.block % m.codes_a_byte() != 0) {
    return InvalidArgument("a block of " + std::to_string(m.block) +
                           " codes does not begin and end with a byte");
  }
  if (m.zero < 0 || m.zero > 255) return InvalidArgument("the zero is outside 0 to 255");
  if (!IsScaleType(node.type.dtype)) return InvalidArgument("gives f32, f16 or bf16");
  return {};
}

std::vector<float> Numbers(const TensorDataRef& data) {
  if (data == nullptr) return {};
  const std::vector<double> wide = ReadDoubles(*data);
  return {wide.begin(), wide.end()};
}

// The numbers of column `n`.
void DecodeColumn(const PackedMatrix& m, const uint8_t* codes, int64_t n,
                  const std::vector<float>& numbers, const std::vector<float>& scales,
                  const std::vector<float>& zeros, std::vector<double>& column) {
  const unsigned mask = (1u << m.bits) - 1;
  for (int64_t k = 0; k < m.depth; ++k) {
    const unsigned byte = codes[n * m.bytes + k / m.codes_a_byte()];
    const unsigned code = (byte >> (k % m.codes_a_byte() * m.bits)) & mask;
    const auto place = static_cast<size_t>(n * m.blocks + k / m.block);
    const float zero = zeros.empty() ? static_cast<float>(m.zero) : zeros[place];
    column[static_cast<size_t>(k)] = (numbers[code] - zero) * scales[place];
  }
}

}  // namespace

Result<PackedMatrix> PackedMatrixOf(const Value& node,
                                    std::span<const TensorType* const> operands) {
  const TensorType& codes = *operands[0];
  const TensorType& scales = *operands[1];
  const TensorType* zeros = operands.size() > 2 ? operands[2] : nullptr;
  PackedMatrix m;
  const int64_t bits = node.Int("bits");
  m.bits = bits == 2 || bits == 4 || bits == 8 ? static_cast<int>(bits) : 0;
  m.depth = node.Int("depth");
  m.block = node.Int("block");
  m.zero = node.Int("zero");
  MLC_TRY(CheckForm(node, m));
  m.codes = codes.dtype;
  const bool is_float = IsFloat8(codes.dtype);
  if ((codes.dtype != DType::kU8 && !is_float) || codes.rank() != 2) {
    return InvalidArgument("the codes are u8, f8e4m3fn or f8e5m2 of rank 2");
  }
  if (is_float && (m.bits != 8 || m.zero != 0 || zeros != nullptr)) {
    return InvalidArgument("codes of float8 have 8 bits and no zeros");
  }
  m.columns = codes.dims[0];
  m.bytes = codes.dims[1];
  m.blocks = CeilDiv(m.depth, m.block);
  const int64_t most = m.blocks * (m.block / m.codes_a_byte());
  if (m.bytes < m.bytes_read() || m.bytes > most) {
    return InvalidArgument(std::to_string(m.depth) + " codes of a column take " +
                           std::to_string(m.bytes_read()) + " to " + std::to_string(most) +
                           " bytes, not " + std::to_string(m.bytes));
  }
  if (!IsScaleType(scales.dtype) || scales.dims != std::vector<int64_t>{m.columns, m.blocks}) {
    return InvalidArgument("the scales are floats of [" + std::to_string(m.columns) + "," +
                           std::to_string(m.blocks) + "]");
  }
  if (zeros != nullptr && (zeros->dims != scales.dims ||
                           (zeros->dtype != DType::kU8 && zeros->dtype != scales.dtype))) {
    return InvalidArgument("the zeros have the dims of the scales, and their type or u8");
  }
  return m;
}

TensorDataRef Dequantized(const Value& node, std::span<const TensorDataRef> operands,
                          bool by_columns) {
  std::vector<TensorType> types;
  for (const TensorDataRef& data : operands) types.push_back({data->dtype, data->dims, {}});
  std::vector<const TensorType*> pointers;
  for (const TensorType& type : types) pointers.push_back(&type);
  const PackedMatrix m = *PackedMatrixOf(node, pointers);
  const std::vector<int64_t> dims = by_columns ? std::vector<int64_t>{m.columns, m.depth}
                                               : std::vector<int64_t>{m.depth, m.columns};
  const auto width = static_cast<size_t>(SizeOf(node.type.dtype));
  const auto* codes = reinterpret_cast<const uint8_t*>(operands[0]->bytes.data());
  const std::vector<double> of_codes = NumbersOfCodes(m.codes);
  const std::vector<float> numbers(of_codes.begin(), of_codes.end());
  const std::vector<float> scales = Numbers(operands[1]);
  const std::vector<float> zeros = Numbers(operands.size() > 2 ? operands[2] : nullptr);
  std::vector<std::byte> bytes(static_cast<size_t>(m.depth * m.columns) * width);
  std::vector<double> column(static_cast<size_t>(m.depth));
  for (int64_t n = 0; n < m.columns; ++n) {
    DecodeColumn(m, codes, n, numbers, scales, zeros, column);
    const TensorDataRef stored = WriteDoubles(node.type.dtype, {m.depth}, column);
    for (int64_t k = 0; k < m.depth; ++k) {
      const int64_t at = by_columns ? n * m.depth + k : k * m.columns + n;
      std::memcpy(bytes.data() + static_cast<size_t>(at) * width,
                  stored->bytes.data() + static_cast<size_t>(k) * width, width);
    }
  }
  return MakeTensorData(node.type.dtype, dims, std::move(bytes));
}

}  // namespace mlc::graph
