#include "compiler/ir/verify_expr.h"

#include <bit>
#include <cmath>

namespace mlc::ir {

Status ExpressionVerifier::CheckIndex(const ExprRef& e, const std::string& what, int depth,
                                      bool* is_static) const {
  MLC_TRY(CheckExpr(e, depth, is_static));
  if (!IsIndex(e)) return scope_.Bad(what + " is no i64 scalar");
  return {};
}

Status ExpressionVerifier::CheckExpr(const ExprRef& e, int depth, bool* is_static) const {
  if (e == nullptr) return scope_.Bad("a missing expression");
  if (depth > kMaxDepth) return scope_.Bad("nested too deeply");
  if (!IsLanes(e->type.lanes)) return scope_.Bad("lanes out of range");
  return std::visit([&](const auto& node) { return Check(e->type, node, depth, is_static); },
                    e->node);
}

Status ExpressionVerifier::CheckAccess(const Buffer& buffer, const ExprRef& index, int lanes,
                                       int64_t stride, const ExprRef& mask, int depth) const {
  if (buffer.scope == Scope::kCounter) {
    return scope_.Bad("counter '" + buffer.name + "' is touched by other than arrive");
  }
  if (buffer.scope == Scope::kMbarrier) {
    return scope_.Bad("mbarrier '" + buffer.name + "' is touched by a load or store");
  }
  bool is_static = true;
  MLC_TRY(CheckIndex(index, "index of '" + buffer.name + "'", depth, &is_static));
  if (mask != nullptr) MLC_TRY(CheckIndex(mask, "mask of '" + buffer.name + "'", depth));
  if (stride < -kMaxBufferSize || stride > kMaxBufferSize) {
    return scope_.Bad("stride of '" + buffer.name + "' is out of range");
  }
  if (buffer.scope != Scope::kRegister) return {};
  if (!is_static)
    return scope_.Bad("register '" + buffer.name + "' has an index that is not constant");
  if (lanes != buffer.lanes || stride != 1 || mask != nullptr) {
    return scope_.Bad("register '" + buffer.name + "' is not accessed whole");
  }
  return {};
}

Status ExpressionVerifier::CheckRegister(BufferId id, const ExprRef& index, int depth) const {
  MLC_TRY(scope_.CheckBuffer(id));
  const Buffer& buffer = scope_.BufferOf(id);
  if (buffer.scope != Scope::kRegister) return scope_.Bad("'" + buffer.name + "' is no register");
  return CheckAccess(buffer, index, buffer.lanes, 1, nullptr, depth);
}

Status ExpressionVerifier::Check(const Type& type, const IntImm& constant, int, bool*) const {
  return scope_.Expect(!IsFloat(type.dtype) && type.lanes == 1 &&
                           WrapTo(type.dtype, constant.value) == constant.value,
                       "an integer constant does not fit its type");
}

Status ExpressionVerifier::Check(const Type& type, const FloatImm& constant, int, bool*) const {
  return scope_.Expect(
      IsFloat(type.dtype) && type.lanes == 1 &&
          (RoundTo(type.dtype, constant.value) == constant.value || std::isnan(constant.value)),
      "a float constant does not fit its type");
}

Status ExpressionVerifier::Check(const Type& type, const VarRef& ref, int, bool* is_static) const {
  const VerifyScope::Binding binding = MLC_TRY(scope_.Find(ref.var));
  if (is_static != nullptr) *is_static &= binding == VerifyScope::Binding::kStatic;
  return scope_.Expect(type == Type{DType::kI64, 1}, "a variable is no i64 scalar");
}

Status ExpressionVerifier::Check(const Type& type, const Load& load, int depth,
                                 bool* is_static) const {
  MLC_TRY(scope_.CheckBuffer(load.buffer));
  const Buffer& buffer = scope_.BufferOf(load.buffer);
  if (is_static != nullptr) *is_static = false;
  if (type.dtype != buffer.dtype)
    return scope_.Bad("load of '" + buffer.name + "' as another type");
  return CheckAccess(buffer, load.index, type.lanes, load.stride, load.mask, depth + 1);
}

Status ExpressionVerifier::Check(const Type& type, const Apply& apply, int depth,
                                 bool* is_static) const {
  for (const ExprRef& arg : apply.args) MLC_TRY(CheckExpr(arg, depth + 1, is_static));
  const Result<Type> result = TypeOfApply(apply.op, apply.args);
  if (!result.ok()) return scope_.Bad(result.status().message());
  return scope_.Expect(type == *result, "an operator has the wrong type");
}

Status ExpressionVerifier::Check(const Type& type, const Cast& cast, int depth,
                                 bool* is_static) const {
  MLC_TRY(CheckExpr(cast.value, depth + 1, is_static));
  return scope_.Expect(type.lanes == cast.value->type.lanes, "a cast changes lanes");
}

Status ExpressionVerifier::Check(const Type& type, const Broadcast& broadcast, int depth,
                                 bool*) const {
  MLC_TRY(CheckExpr(broadcast.value, depth + 1));
  return scope_.Expect(broadcast.value->type == Type{type.dtype, 1},
                       "a broadcast is not of a scalar");
}

Status ExpressionVerifier::Check(const Type& type, const ReduceLanes& reduce, int depth,
                                 bool* is_static) const {
  MLC_TRY(CheckExpr(reduce.value, depth + 1, is_static));
  const Result<Type> result = TypeOfReduce(reduce.op, reduce.value);
  if (!result.ok()) return scope_.Bad(result.status().message());
  return scope_.Expect(type == *result, "a reduction has the wrong type");
}

Status ExpressionVerifier::Check(const Type& type, const LaneMask& mask, int depth, bool*) const {
  MLC_TRY(CheckIndex(mask.active, "active lanes", depth + 1));
  return scope_.Expect(type.dtype == DType::kBool, "a lane mask is no bool");
}

Status ExpressionVerifier::Check(const Type& type, const LaneIndex&, int, bool*) const {
  return scope_.Expect(type.dtype != DType::kBool, "a lane index is a bool");
}

Status ExpressionVerifier::Check(const Type& type, const ShuffleXor& shuffle, int depth,
                                 bool* is_static) const {
  if (type.lanes > 1) return CheckVector(type, shuffle, depth);
  if (!scope_.gpu()) return scope_.Bad("a GPU expression in a kernel without threads");
  MLC_TRY(CheckExpr(shuffle.value, depth + 1));
  if (is_static != nullptr) *is_static = false;
  const bool fits = type == Type{DType::kF32, 1} || type == Type{DType::kI32, 1};
  if (!fits || shuffle.value->type != type) return scope_.Bad("a shuffle of other than f32 or i32");
  return scope_.Expect(shuffle.lane_mask >= 1 && shuffle.lane_mask <= 31,
                       "a shuffle by other than 1 to 31");
}

Status ExpressionVerifier::CheckVector(const Type& type, const ShuffleXor& shuffle,
                                       int depth) const {
  if (scope_.gpu()) return scope_.Bad("a shuffle of a vector in a kernel with threads");
  MLC_TRY(CheckExpr(shuffle.value, depth + 1));
  if (shuffle.value->type != type) return scope_.Bad("a shuffle of another type");
  const bool fits = std::has_single_bit(static_cast<unsigned>(type.lanes)) &&
                    shuffle.lane_mask >= 1 && shuffle.lane_mask < type.lanes;
  return scope_.Expect(fits, "a shuffle of a vector by other than a lane of it");
}

}  // namespace mlc::ir
