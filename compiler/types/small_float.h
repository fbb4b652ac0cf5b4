// Floats of 4 and 8 bits as codes: how a code is cut, and conversions from and to double. Sources:
// the table of float types of the ONNX standard, OCP 8-bit Floating Point and Microscaling formats.
// Pure functions.
#pragma once

#include <cstdint>

#include "compiler/types/dtype.h"

namespace mlc {

struct SmallFloat {
  int exponent_bits = 0;
  int mantissa_bits = 0;
  int bias = 0;
  // What is beyond the largest code of a number.
  enum Specials : uint8_t {
    kNone,            // nothing: larger numbers saturate, NaN becomes minus zero
    kLastIsNan,       // a NaN in place of the last number
    kInfinities,      // an infinity and NaNs in place of the last exponent
    kMinusZeroIsNan,  // no infinity; the code of minus zero is the NaN
    kScale,           // no sign, no mantissa, no zero: powers of two, the last code is NaN
  } specials = kNone;

  // Of the sign.
  unsigned SignBit() const {
    return specials == kScale ? 0 : 1U << (exponent_bits + mantissa_bits);
  }
  // Of the largest finite number.
  unsigned LastCode() const;
  // Of NaN.
  unsigned NanCode() const;
  // Of a positive number that is too large, where conversions do not saturate.
  unsigned OverflowCode() const;
};

// REQUIRES: a small float type.
SmallFloat FormOf(DType dtype);

// The number that a code stands for.
double SmallFloatToDouble(DType dtype, unsigned code);
// The nearest number, ties to even; of a kF8E8M0 the nearest power of two, ties upwards. What is
// too large gives OverflowCode, infinities too.
unsigned DoubleToSmallFloat(DType dtype, double value);
// The largest finite number.
double LargestOf(DType dtype);

}  // namespace mlc
