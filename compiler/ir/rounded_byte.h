// The form of what quantisation computes: cast<u8>(min(max(round(x) + zero, low), high)), or i8.
// Code generators have fewer instructions for it than for its parts. Pure; thread-safe.
#pragma once

#include <optional>

#include "compiler/ir/expr.h"

namespace mlc::ir {

struct RoundedByte {
  ExprRef x;                    // f32
  int64_t zero = 0;             // added after rounding; within the bytes
  int64_t low = 0, high = 255;  // bounds of the result, within the bytes
};

// Nothing if the cast is none to bytes of that form. Bounds and zero may be left out; a cast has
// the bounds of its type.
std::optional<RoundedByte> FindRoundedByte(const Expr& cast);

}  // namespace mlc::ir
