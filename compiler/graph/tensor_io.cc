#include "compiler/graph/tensor_io.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "compiler/types/small_float.h"

namespace mlc::graph {

namespace {

template <typename T>
T Load(const std::byte* from) {
  T value;
  std::memcpy(&value, from, sizeof value);
  return value;
}

double FromHalf(uint16_t bits) {
  const int exponent = bits >> 10 & 31;
  const double fraction = bits & 1023;
  const double sign = bits >> 15 ? -1.0 : 1.0;
  if (exponent == 31) {
    return fraction == 0 ? sign * std::numeric_limits<double>::infinity()
                         : std::numeric_limits<double>::quiet_NaN();
  }
  if (exponent == 0) return sign * std::ldexp(fraction, -24);
  return sign * std::ldexp(1024 + fraction, exponent - 25);
}

// The nearest half, ties to even, straight from the double: no double rounding through f32.
uint16_t ToHalf(double value) {
  const auto sign = static_cast<uint16_t>(std::signbit(value) ? 0x8000 : 0);
  if (std::isnan(value)) return static_cast<uint16_t>(sign | 0x7e00);
  const double magnitude = std::abs(value);
  if (magnitude == 0) return sign;
  if (magnitude >= 65520) return static_cast<uint16_t>(sign | 0x7c00);
  int exponent = 0;
  std::frexp(magnitude, &exponent);
  exponent = std::max(exponent - 1, -14);
  const double units = std::nearbyint(std::ldexp(magnitude, 10 - exponent));
  // A carry out of the fraction moves on into the exponent by itself.
  const int code = ((exponent + 15) << 10) + static_cast<int>(units) - 1024;
  return static_cast<uint16_t>(sign | code);
}

double FromBFloat(uint16_t bits) { return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16); }

uint16_t ToBFloat(double value) {
  auto narrow = static_cast<float>(value);
  if (std::isnan(narrow)) return 0x7fc0;
  uint32_t bits = std::bit_cast<uint32_t>(narrow);
  // Rounding to odd in the first step makes the second rounding exact.
  if (static_cast<double>(narrow) != value && std::isfinite(narrow)) {
    if (std::abs(static_cast<double>(narrow)) > std::abs(value)) --bits;
    bits |= 1;
  }
  if (std::isinf(narrow)) return static_cast<uint16_t>(bits >> 16);
  bits += 0x7fff + (bits >> 16 & 1);
  return static_cast<uint16_t>(bits >> 16);
}

int64_t Saturate(DType dtype, double value) {
  if (dtype == DType::kU64 && value >= 9223372036854775808.0) {
    if (value >= 18446744073709551616.0) return -1;
    return static_cast<int64_t>(static_cast<uint64_t>(value));
  }
  if (std::isnan(value)) return 0;
  if (value >= 9223372036854775807.0) return std::numeric_limits<int64_t>::max();
  if (value <= -9223372036854775808.0) return std::numeric_limits<int64_t>::min();
  return static_cast<int64_t>(value);
}

template <typename T>
void Store(std::byte* to, T value) {
  std::memcpy(to, &value, sizeof value);
}

// The low bits of an integer, as one of fewer than 8 bits is stored.
int64_t LowBits(DType dtype, int64_t value) {
  const int64_t mask = (int64_t{1} << BitsOf(dtype)) - 1;
  const int64_t low = value & mask;
  return IsUnsigned(dtype) || low <= mask >> 1 ? low : low - mask - 1;
}

void StoreInt(DType dtype, std::byte* to, int64_t value) {
  if (IsSmall(dtype)) value = LowBits(dtype, value);
  switch (SizeOf(dtype)) {
    case 1:
      return Store(to, static_cast<uint8_t>(dtype == DType::kBool ? value != 0 : value));
    case 2:
      return Store(to, static_cast<uint16_t>(value));
    case 4:
      return Store(to, static_cast<uint32_t>(value));
    default:
      return Store(to, value);
  }
}

void StoreDouble(DType dtype, std::byte* to, double value) {
  switch (dtype) {
    case DType::kF32:
      return Store(to, static_cast<float>(value));
    case DType::kF64:
      return Store(to, value);
    case DType::kF16:
      return Store(to, ToHalf(value));
    case DType::kBF16:
      return Store(to, ToBFloat(value));
    case DType::kBool:
      return StoreInt(dtype, to, value != 0);
    default:
      if (!IsFloat(dtype)) return StoreInt(dtype, to, Saturate(dtype, value));
      return Store(to, static_cast<uint8_t>(DoubleToSmallFloat(dtype, value)));
  }
}

}  // namespace

double ReadDouble(const TensorData& data, int64_t index) {
  const std::byte* at = data.bytes.data() + index * SizeOf(data.dtype);
  switch (data.dtype) {
    case DType::kF32:
      return Load<float>(at);
    case DType::kF64:
      return Load<double>(at);
    case DType::kF16:
      return FromHalf(Load<uint16_t>(at));
    case DType::kBF16:
      return FromBFloat(Load<uint16_t>(at));
    case DType::kU64:
      return static_cast<double>(Load<uint64_t>(at));
    default:
      if (!IsFloat(data.dtype)) return static_cast<double>(ReadInt(data, index));
      return SmallFloatToDouble(data.dtype, Load<uint8_t>(at));
  }
}

int64_t ReadInt(const TensorData& data, int64_t index) {
  const std::byte* at = data.bytes.data() + index * SizeOf(data.dtype);
  switch (data.dtype) {
    case DType::kI8:
    case DType::kI4:
    case DType::kI2:
      return Load<int8_t>(at);
    case DType::kU8:
    case DType::kU4:
    case DType::kU2:
      return Load<uint8_t>(at);
    case DType::kU16:
      return Load<uint16_t>(at);
    case DType::kU32:
      return Load<uint32_t>(at);
    case DType::kBool:
      return Load<uint8_t>(at) != 0;
    case DType::kI16:
      return Load<int16_t>(at);
    case DType::kI32:
      return Load<int32_t>(at);
    case DType::kI64:
    case DType::kU64:
      return Load<int64_t>(at);
    default:
      return Saturate(DType::kI64, ReadDouble(data, index));
  }
}

std::vector<double> ReadDoubles(const TensorData& data) {
  std::vector<double> values(data.bytes.size() / static_cast<size_t>(SizeOf(data.dtype)));
  if (data.dtype == DType::kF32) {
    const std::byte* at = data.bytes.data();
    for (double& value : values) value = Load<float>(at), at += sizeof(float);
    return values;
  }
  for (size_t i = 0; i < values.size(); ++i) values[i] = ReadDouble(data, static_cast<int64_t>(i));
  return values;
}

std::vector<int64_t> ReadInts(const TensorData& data) {
  std::vector<int64_t> values(data.bytes.size() / static_cast<size_t>(SizeOf(data.dtype)));
  for (size_t i = 0; i < values.size(); ++i) values[i] = ReadInt(data, static_cast<int64_t>(i));
  return values;
}

TensorDataRef WriteDoubles(DType dtype, std::vector<int64_t> dims, std::span<const double> values) {
  const auto size = static_cast<size_t>(SizeOf(dtype));
  std::vector<std::byte> bytes(values.size() * size);
  std::byte* at = bytes.data();
  if (dtype == DType::kF32) {
    for (const double value : values) Store(at, static_cast<float>(value)), at += sizeof(float);
  } else {
    for (const double value : values) StoreDouble(dtype, at, value), at += size;
  }
  return MakeTensorData(dtype, std::move(dims), std::move(bytes));
}

TensorDataRef WriteInts(DType dtype, std::vector<int64_t> dims, std::span<const int64_t> values) {
  const auto size = static_cast<size_t>(SizeOf(dtype));
  std::vector<std::byte> bytes(values.size() * size);
  for (size_t i = 0; i < values.size(); ++i) {
    if (IsFloat(dtype)) {
      StoreDouble(dtype, bytes.data() + i * size, static_cast<double>(values[i]));
    } else {
      StoreInt(dtype, bytes.data() + i * size, values[i]);
    }
  }
  return MakeTensorData(dtype, std::move(dims), std::move(bytes));
}

TensorDataRef ConstantData(const Value& value) {
  if (value.op != Op::kConstant) return nullptr;
  if (value.data) return value.data;
  if (!value.Has("value")) return nullptr;
  const std::vector<double> values(static_cast<size_t>(value.type.NumElements()),
                                   value.Float("value"));
  return WriteDoubles(value.type.dtype, value.type.dims, values);
}

}  // namespace mlc::graph
