#include "compiler/graph/onnx/ops/conversion.h"

#include "compiler/types/small_float.h"

namespace mlc::graph::onnx {
namespace {

ValueId Bounded(Builder& b, ValueId x, double most) {
  return b.Min(b.Max(x, b.ScalarLike(x, -most)), b.ScalarLike(x, most));
}

// The nearest power of two, and one step from there if it lies on the other side.
ValueId PowerOfTwo(Builder& b, ValueId x, const Conversion& how) {
  x = b.Apply(ScalarOp::kAbs, {b.Cast(x, DType::kF32)});
  if (how.saturates) x = b.Min(x, b.ScalarLike(x, LargestOf(DType::kF8E8M0)));
  const ValueId nearest = b.Cast(x, DType::kF8E8M0);
  if (how.rounding == ScaleRounding::kNearest) return nearest;
  const ValueId power = b.Cast(nearest, DType::kF32);
  const bool up = how.rounding == ScaleRounding::kUp;
  const ValueId missed =
      up ? b.Apply(ScalarOp::kLess, {power, x}) : b.Apply(ScalarOp::kLess, {x, power});
  const ValueId step = b.TimesNumber(power, up ? 2 : 0.5);
  return b.Cast(b.Apply(ScalarOp::kSelect, {missed, step, power}), DType::kF8E8M0);
}

}  // namespace

ValueId Converted(Builder& b, ValueId x, DType to, const Conversion& how) {
  const DType from = b.DTypeOf(x);
  if (from == to || !IsSmall(to)) return b.Cast(x, to);
  // What is beyond an integer of a few bits keeps its low bits.
  if (!IsFloat(to)) return b.Cast(IsFloat(from) ? b.Cast(x, DType::kI32) : x, to);
  if (to == DType::kF8E8M0) return PowerOfTwo(b, x, how);
  if (!IsFloat(from) || IsSmall(from)) x = b.Cast(x, DType::kF32);
  if (how.saturates && to != DType::kF4E2M1) x = Bounded(b, x, LargestOf(to));
  return b.Cast(x, to);
}

}  // namespace mlc::graph::onnx
