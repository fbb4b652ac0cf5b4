#include "compiler/ir/interpret/lane.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "base/check.h"
#include "compiler/ir/types.h"
#include "compiler/types/small_float.h"

namespace mlc::ir {

namespace {

template <typename T>
T ReadAs(const std::byte* at) {
  T value;
  std::memcpy(&value, at, sizeof(T));
  return value;
}
template <typename T>
void WriteAs(std::byte* at, T value) {
  std::memcpy(at, &value, sizeof(T));
}

double HalfToDouble(uint16_t bits) {
  const int exponent = (bits >> 10) & 31;
  const int mantissa = bits & 1023;
  double magnitude = 0;
  if (exponent == 31) {
    magnitude = mantissa != 0 ? std::nan("") : HUGE_VAL;
  } else if (exponent == 0) {
    magnitude = std::ldexp(mantissa, -24);
  } else {
    magnitude = std::ldexp(mantissa + 1024, exponent - 25);
  }
  return (bits & 0x8000) != 0 ? -magnitude : magnitude;
}

// `value` is exactly a half.
uint16_t DoubleToHalf(double value) {
  const uint16_t sign = std::signbit(value) ? 0x8000 : 0;
  const double magnitude = std::fabs(value);
  if (std::isnan(value)) return sign | 0x7e00;
  if (std::isinf(value)) return sign | 0x7c00;
  if (magnitude < 0x1p-14) {
    return static_cast<uint16_t>(sign | static_cast<int>(std::ldexp(magnitude, 24)));
  }
  const int exponent = std::ilogb(magnitude);
  const int mantissa = static_cast<int>(std::ldexp(magnitude, 10 - exponent)) - 1024;
  return static_cast<uint16_t>(sign | (exponent + 15) << 10 | mantissa);
}

double BrainToDouble(uint16_t bits) { return std::bit_cast<float>(uint32_t{bits} << 16); }
uint16_t DoubleToBrain(double value) {
  if (std::isnan(value)) return 0x7fc0;
  return static_cast<uint16_t>(std::bit_cast<uint32_t>(static_cast<float>(value)) >> 16);
}

Lane FromInt(int64_t value) {
  Lane lane;
  lane.i = value;
  return lane;
}
Lane FromFloat(double value) {
  Lane lane;
  lane.f = value;
  return lane;
}

int64_t Saturate(DType dtype, double value) {
  if (std::isnan(value)) return 0;
  int bits = BitsOf(dtype);
  double low = 0;
  if (!IsUnsigned(dtype)) {
    --bits;
    low = -std::ldexp(1.0, bits);
  }
  const double past = std::ldexp(1.0, bits);
  if (value <= low) return static_cast<int64_t>(low);
  if (value >= past) {
    if (bits == 64) return -1;
    return bits == 63 ? std::numeric_limits<int64_t>::max() : (int64_t{1} << bits) - 1;
  }
  if (bits == 64) return static_cast<int64_t>(static_cast<uint64_t>(value));
  return static_cast<int64_t>(value);
}

// a*b+c rounded once. The double product of two narrower floats is exact, but the sum of it and c
// would round twice.
double FusedFloat(DType dtype, double a, double b, double c) {
  if (dtype == DType::kF64) return std::fma(a, b, c);
  return std::fma(static_cast<float>(a), static_cast<float>(b), static_cast<float>(c));
}

void ApplyFloat(ScalarOp op, DType dtype, const Lane* args, Lane* result) {
  const ScalarOpInfo& info = InfoOf(op);
  const ScalarFunction<double>& function = info.real.exact;
  double value = 0;
  if (op == ScalarOp::kFma) {
    value = FusedFloat(dtype, args[0].f, args[1].f, args[2].f);
  } else if (function.one != nullptr) {
    value = function.one(args[0].f);
  } else {
    MLC_CHECK(function.two != nullptr) << info.name;
    value = function.two(args[0].f, args[1].f);
  }
  if (info.gives_bool) {
    result->i = value != 0;
  } else {
    result->f = RoundTo(dtype, value);
  }
}

// False for a division by zero.
bool ApplyInt(ScalarOp op, DType dtype, const Lane* args, int64_t* result) {
  const ScalarFunction<int64_t>& function = InfoOf(op).integer;
  if (function.one != nullptr) {
    if (dtype == DType::kU64 && scalar::ApplyUnsigned(op, args[0].i, 0, result)) return true;
    *result = function.one(args[0].i);
    return true;
  }
  if (function.three != nullptr) {
    *result = function.three(args[0].i, args[1].i, args[2].i);
    return true;
  }
  MLC_CHECK(function.two != nullptr) << InfoOf(op).name;
  const bool divides = op == ScalarOp::kDiv || op == ScalarOp::kMod;
  if (divides && args[1].i == 0) return false;
  if (dtype == DType::kU64 && scalar::ApplyUnsigned(op, args[0].i, args[1].i, result)) return true;
  const bool floors = op == ScalarOp::kDiv && dtype == DType::kI64;
  *result = (floors ? scalar::FloorQuotient : function.two)(args[0].i, args[1].i);
  return true;
}

}  // namespace

Lane ReadLane(DType dtype, const std::byte* at) {
  switch (dtype) {
    case DType::kF32:
      return FromFloat(ReadAs<float>(at));
    case DType::kF64:
      return FromFloat(ReadAs<double>(at));
    case DType::kF16:
      return FromFloat(HalfToDouble(ReadAs<uint16_t>(at)));
    case DType::kBF16:
      return FromFloat(BrainToDouble(ReadAs<uint16_t>(at)));
    case DType::kI8:
    case DType::kI4:
    case DType::kI2:
      return FromInt(ReadAs<int8_t>(at));
    case DType::kU8:
    case DType::kU4:
    case DType::kU2:
      return FromInt(ReadAs<uint8_t>(at));
    case DType::kU16:
      return FromInt(ReadAs<uint16_t>(at));
    case DType::kU32:
      return FromInt(ReadAs<uint32_t>(at));
    case DType::kI16:
      return FromInt(ReadAs<int16_t>(at));
    case DType::kI32:
      return FromInt(ReadAs<int32_t>(at));
    case DType::kI64:
    case DType::kU64:
      return FromInt(ReadAs<int64_t>(at));
    case DType::kBool:
      return FromInt(ReadAs<uint8_t>(at) != 0);
    case DType::kF8E4M3Fn:
    case DType::kF8E4M3Fnuz:
    case DType::kF8E5M2:
    case DType::kF8E5M2Fnuz:
    case DType::kF8E8M0:
    case DType::kF4E2M1:
      return FromFloat(SmallFloatToDouble(dtype, ReadAs<uint8_t>(at)));
  }
  return FromInt(0);
}

void WriteLane(DType dtype, std::byte* at, Lane value) {
  switch (dtype) {
    case DType::kF32:
      return WriteAs(at, static_cast<float>(value.f));
    case DType::kF64:
      return WriteAs(at, value.f);
    case DType::kF16:
      return WriteAs(at, DoubleToHalf(value.f));
    case DType::kBF16:
      return WriteAs(at, DoubleToBrain(value.f));
    case DType::kI8:
    case DType::kU8:
    case DType::kI4:
    case DType::kU4:
    case DType::kI2:
    case DType::kU2:
    case DType::kBool:
      return WriteAs(at, static_cast<uint8_t>(value.i));
    case DType::kI16:
    case DType::kU16:
      return WriteAs(at, static_cast<uint16_t>(value.i));
    case DType::kI32:
    case DType::kU32:
      return WriteAs(at, static_cast<uint32_t>(value.i));
    case DType::kI64:
    case DType::kU64:
      return WriteAs(at, value.i);
    case DType::kF8E4M3Fn:
    case DType::kF8E4M3Fnuz:
    case DType::kF8E5M2:
    case DType::kF8E5M2Fnuz:
    case DType::kF8E8M0:
    case DType::kF4E2M1:
      return WriteAs(at, static_cast<uint8_t>(DoubleToSmallFloat(dtype, value.f)));
  }
}

Lane CastLane(DType from, DType to, Lane value) {
  if (IsFloat(from)) {
    if (IsFloat(to)) return FromFloat(RoundTo(to, value.f));
    if (to == DType::kBool) return FromInt(value.f != 0);
    return FromInt(Saturate(to, value.f));
  }
  if (!IsFloat(to)) return FromInt(WrapTo(to, value.i));
  if (from == DType::kU64) {
    const auto number = static_cast<uint64_t>(value.i);
    if (to == DType::kF64) return FromFloat(static_cast<double>(number));
    return FromFloat(RoundTo(to, static_cast<float>(number)));
  }
  if (to == DType::kF32) return FromFloat(static_cast<float>(value.i));
  return FromFloat(RoundTo(to, static_cast<double>(value.i)));
}

bool ApplyLane(ScalarOp op, DType dtype, const Lane* args, Lane* result) {
  if (op == ScalarOp::kSelect) {
    *result = args[0].i != 0 ? args[1] : args[2];
    return true;
  }
  if (IsFloat(dtype)) {
    ApplyFloat(op, dtype, args, result);
    return true;
  }
  int64_t value = 0;
  if (!ApplyInt(op, dtype, args, &value)) return false;
  result->i = InfoOf(op).gives_bool ? value : WrapTo(dtype, value);
  return true;
}

}  // namespace mlc::ir
