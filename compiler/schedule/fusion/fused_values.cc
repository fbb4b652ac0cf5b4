// Values that need no change of coordinates: sources, constants, arithmetic, casts.
#include "compiler/schedule/fusion/fused_values.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/check.h"

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

ExprRef SplatOf(const Value& node) {
  const auto found = node.attrs.find("value");
  MLC_CHECK(found != node.attrs.end()) << "a workload's constant is a splat";
  if (const auto* integer = std::get_if<int64_t>(&found->second)) {
    const DType dtype = ComputeType(node.type.dtype);
    if (!IsFloat(dtype)) return IntOf(dtype, *integer);
    return ir::Float(dtype, static_cast<double>(*integer));
  }
  return Literal(node.type.dtype, node.Float("value"));
}

ExprRef CastTo(DType dtype, ExprRef value) {
  if (value->type.dtype == dtype) return value;
  if (dtype == DType::kBool) return NonZero(value);
  return ir::MakeCast(dtype, std::move(value));
}

FusedValues::FusedValues(const graph::Workload& workload, ir::KernelBuilder& builder,
                         OperandBuffers operands)
    : workload_(workload), builder_(builder), operands_(std::move(operands)), registers_(builder) {
  for (const auto& users : workload_.graph().Users()) {
    uses_.push_back(static_cast<int>(users.size()));
  }
  for (ValueId output : workload_.outputs()) ++uses_[static_cast<size_t>(output)];
}

void FusedValues::Begin(const Bound& bound) {
  bound_ = &bound;
  memo_.clear();
  remembered_.clear();
}

void FusedValues::End() {
  bound_ = nullptr;
  memo_.clear();
  remembered_.clear();
}

ExprRef FusedValues::Source(ValueId id, const Place& place, const TensorType& type,
                            int64_t offset) {
  const std::vector<int64_t> strides = type.EffectiveStrides();
  ExprRef index = ir::Int(offset);
  int64_t step = 0;
  for (size_t d = 0; d < strides.size(); ++d) {
    if (type.dims[d] == 1 || strides[d] == 0) continue;
    index = place.at[d].base * strides[d] + index;
    step += place.at[d].step * strides[d];
  }
  const int operand = operands_.numbers.at(id);
  const bool vector = step != 0 && place.lanes > 1;
  ExprRef loaded = builder_.Load(Buffer(operand), index, vector ? place.lanes : 1,
                                 vector ? step : 1, vector ? place.active : nullptr);
  const DType compute = ComputeType(type.dtype);
  return compute == type.dtype ? loaded : ir::MakeCast(compute, loaded);
}

ExprRef FusedValues::Pointwise(const Value& node, const PlaceRef& place) {
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

ExprRef FusedValues::ValueAt(ValueId id, const PlaceRef& place) {
  if (const auto given = bound_->find(id); given != bound_->end()) return given->second;
  const auto key = std::make_pair(id, place);
  if (const auto known = memo_.find(key); known != memo_.end()) return known->second;
  ExprRef result = Compute(id, place);
  if (!result) return nullptr;
  const Op op = workload_.graph()[id].op;
  const bool costly = op == Op::kPointwise || op == Op::kCast;
  if (costly && uses_[static_cast<size_t>(id)] > 1) result = registers_.Keep(std::move(result));
  remembered_.push_back(memo_.emplace(key, result).first);
  return result;
}

ExprRef FusedValues::Compute(ValueId id, const PlaceRef& place) {
  const Value& node = workload_.graph()[id];
  switch (node.op) {
    case Op::kInput:
    case Op::kWeight:
      return Source(id, *place, node.type, 0);
    case Op::kConstant:
      return SplatOf(node);
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
      return ResizeAxis(node, *place, 0);
    default:
      return Moved(node, *place);
  }
}

ExprRef FusedValues::Branch(const ExprRef& condition, const std::function<ExprRef()>& then_value,
                            const std::function<ExprRef()>& else_value, DType dtype, int lanes) {
  const ir::BufferId slot = registers_.Next(dtype, lanes);
  bool complete = true;
  const size_t known = remembered_.size();
  const auto side = [&](const std::function<ExprRef()>& value) {
    ExprRef result = value();
    complete = complete && result;
    if (result) {
      if (result->type.lanes != lanes) result = ir::MakeBroadcast(result, lanes);
      builder_.Set(slot, ir::Int(0), result);
    }
    // What one side computed does not exist on the other, nor after both.
    for (; remembered_.size() > known; remembered_.pop_back()) memo_.erase(remembered_.back());
  };
  builder_.If(
      condition, [&] { side(then_value); }, [&] { side(else_value); });
  return complete ? builder_.Get(slot, ir::Int(0)) : nullptr;
}

}  // namespace mlc::schedule
