// Values of Fused that need no change of coordinates: sources, constants, arithmetic, casts.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/check.h"
#include "compiler/schedule/fusion/fused.h"

namespace mlc::schedule {

using graph::Op;
using graph::TensorType;
using graph::Value;
using graph::ValueId;
using ir::ExprRef;

namespace {

ExprRef IntOf(DType dtype, int64_t value) {
  return std::make_shared<const ir::Expr>(ir::Expr{{dtype, 1}, ir::IntImm{value}});
}

// A scalar literal in compute type.
ExprRef Literal(DType storage, double value) {
  const DType dtype = ComputeType(storage);
  if (IsFloat(dtype)) return ir::Float(dtype, value);
  return IntOf(dtype, static_cast<int64_t>(value));
}

ExprRef Widened(const ExprRef& value, int lanes) {
  return value->type.lanes == lanes ? value : ir::MakeBroadcast(value, lanes);
}

ExprRef ZeroLike(const ExprRef& value) {
  return Widened(Literal(value->type.dtype, 0), value->type.lanes);
}

// True where a and b have different signs.
ExprRef SignsDiffer(const ExprRef& a, const ExprRef& b) {
  return ir::MakeApply(ScalarOp::kXor, {ir::MakeApply(ScalarOp::kLess, {a, ZeroLike(a)}),
                                        ir::MakeApply(ScalarOp::kLess, {b, ZeroLike(b)})});
}

ExprRef NonZero(const ExprRef& a) {
  return ir::MakeApply(ScalarOp::kNot, {ir::MakeApply(ScalarOp::kEqual, {a, ZeroLike(a)})});
}

// Tensor semantics of integer division (towards zero) and remainder (sign of the divisor), whatever
// the rounding of the operator itself.
ExprRef IntegerDivision(ScalarOp op, const ExprRef& a, const ExprRef& b) {
  const DType dtype = a->type.dtype;
  const ExprRef quotient = ir::MakeApply(ScalarOp::kDiv, {a, b});
  const ExprRef product = ir::MakeApply(ScalarOp::kMul, {quotient, b});
  const ExprRef rest = ir::MakeApply(ScalarOp::kSub, {a, product});
  const bool division = op == ScalarOp::kDiv;
  const ExprRef wrong =
      ir::MakeApply(ScalarOp::kAnd, {NonZero(rest), SignsDiffer(rest, division ? a : b)});
  const ExprRef plain = division ? quotient : rest;
  const ExprRef fix = division ? IntOf(dtype, 1) : b;
  return ir::MakeApply(ScalarOp::kSelect,
                       {wrong, ir::MakeApply(ScalarOp::kAdd, {plain, fix}), plain});
}

}  // namespace

ExprRef Fused::Constant(const Value& node) const {
  const auto found = node.attrs.find("value");
  MLC_CHECK(found != node.attrs.end()) << "a workload's constant is a splat";
  if (const auto* integer = std::get_if<int64_t>(&found->second)) {
    const DType dtype = ComputeType(node.type.dtype);
    if (!IsFloat(dtype)) return IntOf(dtype, *integer);
    return ir::Float(dtype, static_cast<double>(*integer));
  }
  return Literal(node.type.dtype, node.Float("value"));
}

ExprRef Fused::CastTo(DType dtype, ExprRef value) const {
  if (value->type.dtype == dtype) return value;
  if (dtype == DType::kBool) return NonZero(value);
  return ir::MakeCast(dtype, std::move(value));
}

ExprRef Fused::Source(ValueId id, const Place& place, const TensorType& type, int64_t offset) {
  const std::vector<int64_t> strides = type.EffectiveStrides();
  ExprRef index = ir::Int(offset);
  int64_t step = 0;
  for (size_t d = 0; d < strides.size(); ++d) {
    if (type.dims[d] == 1 || strides[d] == 0) continue;
    index = place.at[d].base * strides[d] + index;
    step += place.at[d].step * strides[d];
  }
  const int operand = operand_of_.at(id);
  const bool vector = step != 0 && place.lanes > 1;
  ExprRef loaded = builder_.Load(OperandBuffer(operand), index, vector ? place.lanes : 1,
                                 vector ? step : 1, vector ? place.active : nullptr);
  const DType compute = ComputeType(type.dtype);
  return compute == type.dtype ? loaded : ir::MakeCast(compute, loaded);
}

Fused::PlaceRef Fused::Broadcasted(const PlaceRef& place, const std::vector<int64_t>& dims) {
  const size_t rank = place->at.size();
  bool same = dims.size() == rank;
  for (size_t d = 0; same && d < rank; ++d) {
    same = dims[d] != 1 || (place->at[d].step == 0 && place->at[d].align == 0);
  }
  if (same) return place;
  auto result = std::make_shared<Place>();
  result->lanes = place->lanes;
  result->active = place->active;
  for (size_t d = 0; d < dims.size(); ++d) {
    const Coord& from = place->at[rank - dims.size() + d];
    result->at.push_back(dims[d] == 1 ? Coord{ir::Int(0), 0, 0} : from);
  }
  return result;
}

ExprRef Fused::Pointwise(const Value& node, const PlaceRef& place) {
  std::vector<ExprRef> args;
  int lanes = 1;
  for (ValueId operand : node.operands) {
    ExprRef arg = ValueAt(operand, Broadcasted(place, workload_.graph()[operand].type.dims));
    if (!arg) return nullptr;
    lanes = std::max(lanes, arg->type.lanes);
    args.push_back(std::move(arg));
  }
  for (ExprRef& arg : args) arg = Widened(arg, lanes);
  const bool division = node.scalar == ScalarOp::kDiv || node.scalar == ScalarOp::kMod;
  if (division && !IsFloat(args[0]->type.dtype)) {
    // Inactive lanes read as zero; dividing by them would trap.
    if (lanes > 1) return nullptr;
    return IntegerDivision(node.scalar, args[0], args[1]);
  }
  return ir::MakeApply(node.scalar, std::move(args));
}

ExprRef Fused::ValueAt(ValueId id, const PlaceRef& place) {
  if (const auto given = bound_->find(id); given != bound_->end()) return given->second;
  const auto key = std::make_pair(id, place);
  if (const auto known = memo_.find(key); known != memo_.end()) return known->second;
  ExprRef result = Compute(id, place);
  if (!result) return nullptr;
  const Op op = workload_.graph()[id].op;
  const bool costly = op == Op::kPointwise || op == Op::kCast;
  if (costly && uses_[static_cast<size_t>(id)] > 1) result = Keep(std::move(result));
  remembered_.push_back(memo_.emplace(key, result).first);
  return result;
}

ExprRef Fused::Compute(ValueId id, const PlaceRef& place) {
  const Value& node = workload_.graph()[id];
  switch (node.op) {
    case Op::kInput:
    case Op::kWeight:
      return Source(id, *place, node.type, 0);
    case Op::kConstant:
      return Constant(node);
    case Op::kPointwise:
      return Pointwise(node, place);
    case Op::kCopy:
      return ValueAt(node.operands[0], place);
    case Op::kCast: {
      ExprRef value = ValueAt(node.operands[0], place);
      if (!value) return nullptr;
      value = CastTo(node.type.dtype, std::move(value));
      const DType compute = ComputeType(node.type.dtype);
      return compute == node.type.dtype ? value : ir::MakeCast(compute, value);
    }
    case Op::kGather:
      return Gather(node, *place);
    case Op::kGatherElements:
      return GatherElements(node, *place);
    case Op::kGatherND:
      return GatherND(node, *place);
    case Op::kResize:
      return Resize(node, *place);
    default:
      return Moved(node, *place);
  }
}

}  // namespace mlc::schedule
