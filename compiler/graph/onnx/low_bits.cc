#include "compiler/graph/onnx/low_bits.h"

#include <cstring>

#include "compiler/graph/onnx/onnx_type.h"
#include "compiler/graph/tensor_io.h"

namespace mlc::graph::onnx {
namespace {

constexpr LowBitType kTypes[] = {
    {kFloat8E4M3Fn, DType::kF8E4M3Fn, DType::kF16},
    {kFloat8E4M3Fnuz, DType::kF8E4M3Fnuz, DType::kF16},
    {kFloat8E5M2, DType::kF8E5M2, DType::kF16},
    {kFloat8E5M2Fnuz, DType::kF8E5M2Fnuz, DType::kF16},
    {kUint4, DType::kU4, DType::kU8},
    {kInt4, DType::kI4, DType::kI8},
    {kFloat4E2M1, DType::kF4E2M1, DType::kF16},
    {kFloat8E8M0, DType::kF8E8M0, DType::kF32},
    {kUint2, DType::kU2, DType::kU8},
    {kInt2, DType::kI2, DType::kI8},
};

size_t CountOf(const std::vector<int64_t>& dims) {
  TensorType shape;
  shape.dims = dims;
  return static_cast<size_t>(shape.NumElements());
}

}  // namespace

const LowBitType* FindLowBitType(int32_t onnx_type) {
  for (const LowBitType& type : kTypes) {
    if (type.onnx_type == onnx_type) return &type;
  }
  return nullptr;
}

const LowBitType* FindLowBitType(DType dtype) {
  for (const LowBitType& type : kTypes) {
    if (type.dtype == dtype) return &type;
  }
  return nullptr;
}

int64_t PackedBytes(const LowBitType& type, int64_t count) {
  const int64_t a_byte = 8 / BitsOf(type.dtype);
  return count / a_byte + (count % a_byte == 0 ? 0 : 1);
}

TensorDataRef UnpackLowBits(const LowBitType& type, const std::vector<int64_t>& dims,
                            std::string_view packed) {
  const auto bits = static_cast<size_t>(BitsOf(type.dtype));
  const size_t a_byte = 8 / bits;
  const unsigned mask = (1U << bits) - 1;
  const bool extends = !IsFloat(type.dtype) && !IsUnsigned(type.dtype);
  std::vector<std::byte> bytes(CountOf(dims));
  for (size_t i = 0; i < bytes.size(); ++i) {
    const unsigned byte = static_cast<uint8_t>(packed[i / a_byte]);
    unsigned code = byte >> (i % a_byte * bits) & mask;
    if (extends && code > mask >> 1) code |= ~mask;
    bytes[i] = static_cast<std::byte>(code & 0xff);
  }
  return MakeTensorData(type.dtype, dims, std::move(bytes));
}

TensorDataRef WidenLowBits(const LowBitType& type, const std::vector<int64_t>& dims,
                           std::string_view packed) {
  // The numbers of all bytes that an element may have, from a table.
  std::vector<std::byte> all(256);
  for (size_t i = 0; i < all.size(); ++i) all[i] = static_cast<std::byte>(i);
  const TensorDataRef codes = MakeTensorData(type.dtype, {256}, std::move(all));
  const TensorDataRef table = WriteDoubles(type.wide, {256}, ReadDoubles(*codes));
  const TensorDataRef narrow = UnpackLowBits(type, dims, packed);
  const auto width = static_cast<size_t>(SizeOf(type.wide));
  std::vector<std::byte> bytes(narrow->bytes.size() * width);
  for (size_t i = 0; i < narrow->bytes.size(); ++i) {
    const auto code = static_cast<size_t>(narrow->bytes[i]);
    std::memcpy(bytes.data() + i * width, table->bytes.data() + code * width, width);
  }
  return MakeTensorData(type.wide, dims, std::move(bytes));
}

std::string PackLowBits(const LowBitType& type, const TensorData& data) {
  const auto bits = static_cast<size_t>(BitsOf(type.dtype));
  const size_t a_byte = 8 / bits;
  const unsigned mask = (1U << bits) - 1;
  std::string packed((data.bytes.size() + a_byte - 1) / a_byte, '\0');
  for (size_t i = 0; i < data.bytes.size(); ++i) {
    const unsigned code = static_cast<unsigned>(data.bytes[i]) & mask;
    packed[i / a_byte] =
        static_cast<char>(static_cast<uint8_t>(packed[i / a_byte]) | code << (i % a_byte * bits));
  }
  return packed;
}

}  // namespace mlc::graph::onnx
