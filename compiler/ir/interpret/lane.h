// One lane of a value while a kernel is interpreted, its memory form, and scalar operators on it.
// Floats live in a double that always holds a value of their own type; integers in an int64_t.
// Thread-safe (no state).
#pragma once

#include <cstddef>
#include <cstdint>

#include "compiler/types/dtype.h"
#include "compiler/types/scalar_op.h"

namespace mlc::ir {

union Lane {
  int64_t i;
  double f;
};

Lane ReadLane(DType dtype, const std::byte* at);
void WriteLane(DType dtype, std::byte* at, Lane value);
// Floats to integers truncate and saturate, NaN gives 0; anything to kBool is "not zero".
Lane CastLane(DType from, DType to, Lane value);

// One operator on operands of type `dtype` (for kSelect, of its last two; args[0] is then a kBool).
// False for an integer division by zero. Floats round to the type after the operator; max and min
// give NaN for NaN. Integer kDiv rounds towards negative infinity for kI64, else towards zero; kMod
// takes the sign of the divisor for integers and is fmod for floats. kRound rounds ties to even.
bool ApplyLane(ScalarOp op, DType dtype, const Lane* args, Lane* result);

}  // namespace mlc::ir
