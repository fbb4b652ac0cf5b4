#include "compiler/types/small_float.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace mlc {

unsigned SmallFloat::LastCode() const {
  switch (specials) {
    case kLastIsNan:
      return SignBit() - 2;
    case kInfinities:
      return (((1U << exponent_bits) - 1) << mantissa_bits) - 1;
    case kScale:
      return 254;
    default:
      return SignBit() - 1;
  }
}

unsigned SmallFloat::NanCode() const {
  switch (specials) {
    case kNone:
    case kMinusZeroIsNan:
      return SignBit();
    case kInfinities:
      return SignBit() - 2;
    case kLastIsNan:
      return SignBit() - 1;
    case kScale:
      return 255;
  }
  return 0;
}

unsigned SmallFloat::OverflowCode() const {
  if (specials == kNone) return LastCode();
  return specials == kInfinities ? LastCode() + 1 : NanCode();
}

SmallFloat FormOf(DType dtype) {
  switch (dtype) {
    case DType::kF8E4M3Fn:
      return {4, 3, 7, SmallFloat::kLastIsNan};
    case DType::kF8E4M3Fnuz:
      return {4, 3, 8, SmallFloat::kMinusZeroIsNan};
    case DType::kF8E5M2:
      return {5, 2, 15, SmallFloat::kInfinities};
    case DType::kF8E5M2Fnuz:
      return {5, 2, 16, SmallFloat::kMinusZeroIsNan};
    case DType::kF8E8M0:
      return {8, 0, 127, SmallFloat::kScale};
    default:
      return {2, 1, 1, SmallFloat::kNone};
  }
}

double SmallFloatToDouble(DType dtype, unsigned code) {
  const SmallFloat form = FormOf(dtype);
  if (form.specials == SmallFloat::kScale) {
    return code == 255 ? std::nan("") : std::ldexp(1, static_cast<int>(code) - form.bias);
  }
  const bool is_negative = (code & form.SignBit()) != 0;
  const unsigned magnitude = code & (form.SignBit() - 1);
  if (form.specials == SmallFloat::kMinusZeroIsNan && is_negative && magnitude == 0) {
    return std::nan("");
  }
  const unsigned exponent = magnitude >> form.mantissa_bits;
  const unsigned mantissa = magnitude & ((1U << form.mantissa_bits) - 1);
  double value = 0;
  if (magnitude > form.LastCode()) {
    value = form.specials == SmallFloat::kInfinities && mantissa == 0
                ? std::numeric_limits<double>::infinity()
                : std::nan("");
  } else if (exponent == 0) {
    value = std::ldexp(mantissa, 1 - form.bias - form.mantissa_bits);
  } else {
    value = std::ldexp(mantissa + (1U << form.mantissa_bits),
                       static_cast<int>(exponent) - form.bias - form.mantissa_bits);
  }
  return is_negative ? -value : value;
}

unsigned DoubleToSmallFloat(DType dtype, double value) {
  const SmallFloat form = FormOf(dtype);
  if (std::isnan(value)) return form.NanCode();
  const double magnitude = std::fabs(value);
  if (form.specials == SmallFloat::kScale) {
    if (std::isinf(value)) return form.NanCode();
    if (magnitude < 0x1p-127) return 0;
    // Ties, at 1.5 times a power of two, go upwards.
    const int exponent = std::ilogb(magnitude / 1.5) + 1 + form.bias;
    return exponent > 254 ? form.NanCode() : static_cast<unsigned>(std::max(exponent, 0));
  }
  const unsigned sign = std::signbit(value) ? form.SignBit() : 0;
  const int least = 1 - form.bias;
  unsigned code = 0;
  if (std::isinf(value)) {
    code = form.OverflowCode();
  } else if (magnitude > 0) {
    const int exponent = std::max(std::ilogb(magnitude), least);
    // A carry out of the mantissa moves on into the exponent by itself.
    const double units = std::nearbyint(std::ldexp(magnitude, form.mantissa_bits - exponent));
    const double whole =
        units + std::ldexp(static_cast<double>(exponent - least), form.mantissa_bits);
    code = whole > form.LastCode() ? form.OverflowCode() : static_cast<unsigned>(whole);
  }
  // NaN has no sign, and zero has none where its code is the NaN.
  if (code == form.NanCode()) return code;
  if (form.specials == SmallFloat::kMinusZeroIsNan && code == 0) return code;
  return code | sign;
}

double LargestOf(DType dtype) { return SmallFloatToDouble(dtype, FormOf(dtype).LastCode()); }

}  // namespace mlc
