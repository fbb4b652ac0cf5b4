// Expressions under the verifier's eyes.
#include <bit>
#include <cmath>
#include "compiler/ir/verifier.h"

namespace mlc::ir {

Status Verifier::CheckIndex(const ExprRef& e, const std::string& what, int depth, bool* is_static) {
  MLC_TRY(CheckExpr(e, depth, is_static));
  if (!IsIndex(e)) return Bad(what + " is no i64 scalar");
  return {};
}

Status Verifier::CheckExpr(const ExprRef& e, int depth, bool* is_static) {
  if (e == nullptr) return Bad("a missing expression");
  if (depth > kMaxDepth) return Bad("nested too deeply");
  if (!IsLanes(e->type.lanes)) return Bad("lanes out of range");
  return std::visit([&](const auto& node) { return Check(e->type, node, depth, is_static); },
                    e->node);
}

Status Verifier::Check(const Type& type, const IntImm& constant, int, bool*) {
  return Expect(!IsFloat(type.dtype) && type.lanes == 1 &&
                    WrapTo(type.dtype, constant.value) == constant.value,
                "an integer constant does not fit its type");
}

Status Verifier::Check(const Type& type, const FloatImm& constant, int, bool*) {
  return Expect(
      IsFloat(type.dtype) && type.lanes == 1 &&
          (RoundTo(type.dtype, constant.value) == constant.value || std::isnan(constant.value)),
      "a float constant does not fit its type");
}

Status Verifier::Check(const Type& type, const VarRef& ref, int, bool* is_static) {
  if (ref.var < 0 || static_cast<size_t>(ref.var) >= state_.size()) {
    return Bad("unknown variable");
  }
  const Binding binding = state_[static_cast<size_t>(ref.var)];
  if (binding != Binding::kDynamic && binding != Binding::kStatic) {
    return Bad("variable '" + VarName(ref.var) + "' is used outside its scope");
  }
  if (is_static != nullptr) *is_static &= binding == Binding::kStatic;
  return Expect(type == Type{DType::kI64, 1}, "a variable is no i64 scalar");
}

Status Verifier::Check(const Type& type, const Load& load, int depth, bool* is_static) {
  MLC_TRY(CheckBuffer(load.buffer));
  const Buffer& buffer = BufferOf(load.buffer);
  if (is_static != nullptr) *is_static = false;
  if (type.dtype != buffer.dtype) return Bad("load of '" + buffer.name + "' as another type");
  return CheckAccess(buffer, load.index, type.lanes, load.stride, load.mask, depth + 1);
}

Status Verifier::Check(const Type& type, const Apply& apply, int depth, bool* is_static) {
  for (const ExprRef& arg : apply.args) MLC_TRY(CheckExpr(arg, depth + 1, is_static));
  const Result<Type> result = TypeOfApply(apply.op, apply.args);
  if (!result.ok()) return Bad(result.status().message());
  return Expect(type == *result, "an operator has the wrong type");
}

Status Verifier::Check(const Type& type, const Cast& cast, int depth, bool* is_static) {
  MLC_TRY(CheckExpr(cast.value, depth + 1, is_static));
  return Expect(type.lanes == cast.value->type.lanes, "a cast changes lanes");
}

Status Verifier::Check(const Type& type, const Broadcast& broadcast, int depth, bool*) {
  MLC_TRY(CheckExpr(broadcast.value, depth + 1));
  return Expect(broadcast.value->type == Type{type.dtype, 1}, "a broadcast is not of a scalar");
}

Status Verifier::Check(const Type& type, const ReduceLanes& reduce, int depth, bool* is_static) {
  MLC_TRY(CheckExpr(reduce.value, depth + 1, is_static));
  const Result<Type> result = TypeOfReduce(reduce.op, reduce.value);
  if (!result.ok()) return Bad(result.status().message());
  return Expect(type == *result, "a reduction has the wrong type");
}

Status Verifier::Check(const Type& type, const LaneMask& mask, int depth, bool*) {
  MLC_TRY(CheckIndex(mask.active, "active lanes", depth + 1));
  return Expect(type.dtype == DType::kBool, "a lane mask is no bool");
}

Status Verifier::Check(const Type& type, const LaneIndex&, int, bool*) {
  return Expect(type.dtype != DType::kBool, "a lane index is a bool");
}

Status Verifier::CheckVector(const Type& type, const ShuffleXor& shuffle, int depth) {
  if (gpu_) return Bad("a shuffle of a vector in a kernel with threads");
  MLC_TRY(CheckExpr(shuffle.value, depth + 1));
  if (shuffle.value->type != type) return Bad("a shuffle of another type");
  const bool fits = std::has_single_bit(static_cast<unsigned>(type.lanes)) &&
                    shuffle.lane_mask >= 1 && shuffle.lane_mask < type.lanes;
  return Expect(fits, "a shuffle of a vector by other than a lane of it");
}

}  // namespace mlc::ir
