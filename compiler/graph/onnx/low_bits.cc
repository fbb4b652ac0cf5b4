#include "compiler/graph/onnx/low_bits.h"

#include <cmath>
#include <cstring>
#include <limits>

#include "compiler/graph/onnx/onnx_type.h"
#include "compiler/graph/tensor_io.h"

namespace mlc::graph::onnx {
namespace {

constexpr LowBitType kTypes[] = {
    {kFloat8E4M3Fn, 8, DType::kF16}, {kFloat8E4M3Fnuz, 8, DType::kF16},
    {kFloat8E5M2, 8, DType::kF16},   {kFloat8E5M2Fnuz, 8, DType::kF16},
    {kUint4, 4, DType::kU8},         {kInt4, 4, DType::kI8},
    {kFloat4E2M1, 4, DType::kF16},   {kFloat8E8M0, 8, DType::kF32},
    {kUint2, 2, DType::kU8},         {kInt2, 2, DType::kI8},
};

// How a narrow float is cut: a sign, exponent and mantissa.
struct FloatForm {
  int exponent_bits;
  int mantissa_bits;
  int bias;
  enum Specials { kNone, kLastIsNan, kInfinities, kMinusZeroIsNan } specials;
};

FloatForm FormOf(int32_t onnx_type) {
  switch (onnx_type) {
    case kFloat8E4M3Fn:
      return {4, 3, 7, FloatForm::kLastIsNan};
    case kFloat8E4M3Fnuz:
      return {4, 3, 8, FloatForm::kMinusZeroIsNan};
    case kFloat8E5M2:
      return {5, 2, 15, FloatForm::kInfinities};
    case kFloat8E5M2Fnuz:
      return {5, 2, 16, FloatForm::kMinusZeroIsNan};
    default:
      return {2, 1, 1, FloatForm::kNone};
  }
}

double FloatOf(const FloatForm& form, unsigned code) {
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  const int magnitude_bits = form.exponent_bits + form.mantissa_bits;
  const unsigned magnitude = code & ((1u << magnitude_bits) - 1);
  const bool is_negative = code >> magnitude_bits != 0;
  const unsigned exponent = magnitude >> form.mantissa_bits;
  const unsigned mantissa = magnitude & ((1u << form.mantissa_bits) - 1);
  const unsigned last_exponent = (1u << form.exponent_bits) - 1;
  double value = 0;
  if (form.specials == FloatForm::kMinusZeroIsNan && is_negative && magnitude == 0) return kNan;
  if (form.specials == FloatForm::kLastIsNan && magnitude == (1u << magnitude_bits) - 1) {
    return kNan;
  }
  if (form.specials == FloatForm::kInfinities && exponent == last_exponent) {
    if (mantissa != 0) return kNan;
    value = std::numeric_limits<double>::infinity();
  } else if (exponent == 0) {
    value = std::ldexp(mantissa, 1 - form.bias - form.mantissa_bits);
  } else {
    value = std::ldexp(mantissa + (1u << form.mantissa_bits),
                       static_cast<int>(exponent) - form.bias - form.mantissa_bits);
  }
  return is_negative ? -value : value;
}

// The number that a code stands for.
double NumberOf(const LowBitType& type, unsigned code) {
  switch (type.onnx_type) {
    case kUint2:
    case kUint4:
      return code;
    case kInt2:
    case kInt4: {
      const int limit = 1 << (type.bits - 1);
      const int value = static_cast<int>(code);
      return value < limit ? value : value - 2 * limit;
    }
    case kFloat8E8M0:  // powers of two alone
      return code == 255 ? std::numeric_limits<double>::quiet_NaN()
                         : std::ldexp(1, static_cast<int>(code) - 127);
    default:
      return FloatOf(FormOf(type.onnx_type), code);
  }
}

}  // namespace

const LowBitType* FindLowBitType(int32_t onnx_type) {
  for (const LowBitType& type : kTypes) {
    if (type.onnx_type == onnx_type) return &type;
  }
  return nullptr;
}

int64_t PackedBytes(const LowBitType& type, int64_t count) {
  const int64_t a_byte = 8 / type.bits;
  return count / a_byte + (count % a_byte == 0 ? 0 : 1);
}

TensorDataRef WidenLowBits(const LowBitType& type, const std::vector<int64_t>& dims,
                           std::string_view packed) {
  // Each code's bytes, from a table.
  std::vector<double> numbers;
  for (unsigned code = 0; code < 1u << type.bits; ++code) numbers.push_back(NumberOf(type, code));
  const TensorDataRef table =
      WriteDoubles(type.wide, {static_cast<int64_t>(numbers.size())}, numbers);
  const size_t width = static_cast<size_t>(SizeOf(type.wide));
  const size_t a_byte = static_cast<size_t>(8 / type.bits);
  TensorType shape;
  shape.dims = dims;
  const size_t count = static_cast<size_t>(shape.NumElements());
  std::vector<std::byte> bytes(count * width);
  for (size_t i = 0; i < count; ++i) {
    const unsigned byte = static_cast<uint8_t>(packed[i / a_byte]);
    const size_t code =
        (byte >> (i % a_byte * static_cast<size_t>(type.bits))) & ((1u << type.bits) - 1);
    std::memcpy(bytes.data() + i * width, table->bytes.data() + code * width, width);
  }
  return MakeTensorData(type.wide, dims, std::move(bytes));
}

}  // namespace mlc::graph::onnx
