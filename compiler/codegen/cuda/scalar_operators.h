// Scalar operators and conversions in C++. Not thread-safe; borrows the device functions and marks
// those that it calls.
#pragma once

#include <optional>
#include <vector>

#include "compiler/codegen/cuda/cxx_text.h"
#include "compiler/codegen/cuda/device_functions.h"
#include "compiler/ir/rounded_byte.h"
#include "compiler/types/scalar_op.h"

namespace mlc::codegen {

Text Negated(const Text& a);
// The condition, and one of two values.
Text Chosen(const std::vector<Text>& args);
// A cast to bytes of a rounded float, or a cast of that to f32.
std::optional<ir::RoundedByte> RoundedByteOf(const ir::Expr& cast);

class ScalarOperators {
 public:
  // `approximate`: as Kernel::approximate.
  ScalarOperators(DeviceFunctions& functions, bool approximate)
      : functions_(functions), approximate_(approximate) {}

  // Applies an operator to operands of the type.
  Text Apply(ScalarOp op, DType dtype, const std::vector<Text>& args);
  Text ApplyToInts(ScalarOp op, DType dtype, const std::vector<Text>& args);
  Text Convert(DType from, DType to, const Text& value);
  // A rounded byte, of the type or as a float, from its x; of i32: the low byte of that.
  Text RoundByte(const ir::RoundedByte& rounded, DType to, const Text& x);
  // Converts between the form in memory and the form for computations.
  Text FromStorage(DType dtype, const Text& raw);
  Text ToStorage(DType dtype, const Text& value);

 private:
  Text ApplyToFloats(ScalarOp op, DType dtype, const std::vector<Text>& args);
  Text Rounded(DType dtype, const Text& value);

  DeviceFunctions& functions_;
  const bool approximate_;
};

}  // namespace mlc::codegen
