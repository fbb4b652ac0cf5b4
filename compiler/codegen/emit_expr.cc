#include "compiler/codegen/convert.h"
#include "compiler/codegen/emit_kernel.h"
#include "compiler/codegen/round_to_byte.h"
#include "compiler/codegen/scalar_ops.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/Instructions.h"

namespace mlc::codegen {

using llvm::Value;

namespace {

bool IsIndexOp(ScalarOp op) {
  switch (op) {
    case ScalarOp::kAdd:
    case ScalarOp::kSub:
    case ScalarOp::kMul:
    case ScalarOp::kDiv:
    case ScalarOp::kMod:
    case ScalarOp::kMin:
    case ScalarOp::kMax:
      return true;
    default:
      return false;
  }
}

bool IsIndexType(const ir::Type& type) { return type.dtype == DType::kI64 && type.lanes == 1; }

}  // namespace

Value* PhaseEmitter::Zero(DType dtype, int lanes) {
  return llvm::Constant::getNullValue(RegisterType(b_.getContext(), dtype, lanes));
}

Affine PhaseEmitter::EvalIndex(const ir::ExprRef& expr) {
  if (auto it = indices_.find(expr.get()); it != indices_.end()) return it->second;
  Affine sum = EvalIndexNode(expr);
  indices_.emplace(expr.get(), sum);
  return sum;
}

Affine PhaseEmitter::EvalIndexNode(const ir::ExprRef& expr) {
  if (const auto* imm = std::get_if<ir::IntImm>(&expr->node)) return Constant(imm->value);
  if (const auto* var = std::get_if<ir::VarRef>(&expr->node)) {
    return vars_[static_cast<size_t>(var->var)];
  }
  const auto* apply = std::get_if<ir::Apply>(&expr->node);
  if (apply != nullptr && IsIndexType(expr->type)) {
    if (apply->op == ScalarOp::kNeg) return Scaled(EvalIndex(apply->args[0]), -1);
    if (IsIndexOp(apply->op)) {
      return pool_.Apply(apply->op, EvalIndex(apply->args[0]), EvalIndex(apply->args[1]));
    }
  }
  return pool_.Here(Eval(expr));
}

Value* PhaseEmitter::Eval(const ir::ExprRef& expr) {
  if (auto it = values_.find(expr.get()); it != values_.end()) return it->second;
  Value* value = nullptr;
  const auto* apply = std::get_if<ir::Apply>(&expr->node);
  const bool index = IsIndexType(expr->type) && apply != nullptr &&
                     (IsIndexOp(apply->op) || apply->op == ScalarOp::kNeg);
  value = index ? pool_.ValueOf(EvalIndex(expr)) : EvalNode(*expr);
  values_.emplace(expr.get(), value);
  return value;
}

Value* PhaseEmitter::EvalNode(const ir::Expr& expr) {
  const ir::Type type = expr.type;
  llvm::Type* scalar = RegisterType(b_.getContext(), type.dtype, 1);
  if (const auto* imm = std::get_if<ir::IntImm>(&expr.node)) {
    return llvm::ConstantInt::getSigned(scalar, imm->value);
  }
  if (const auto* imm = std::get_if<ir::FloatImm>(&expr.node)) {
    const bool wide = type.dtype == DType::kF64;
    llvm::Type* held = wide ? b_.getDoubleTy() : b_.getFloatTy();
    return Convert(b_, features_, llvm::ConstantFP::get(held, imm->value),
                   wide ? DType::kF64 : DType::kF32, type.dtype);
  }
  if (const auto* var = std::get_if<ir::VarRef>(&expr.node)) {
    return pool_.ValueOf(vars_[static_cast<size_t>(var->var)]);
  }
  if (const auto* load = std::get_if<ir::Load>(&expr.node)) return EvalLoad(expr, *load);
  if (const auto* apply = std::get_if<ir::Apply>(&expr.node)) return EvalApply(expr, *apply);
  if (const auto* cast = std::get_if<ir::Cast>(&expr.node)) {
    if (const std::optional<RoundedByte> rounded = FindRoundedByte(expr, features_)) {
      Value* x = Eval(rounded->x);
      return status_.ok() ? EmitRoundedByte(b_, *rounded, x) : Zero(type.dtype, type.lanes);
    }
    return Convert(b_, features_, Eval(cast->value), cast->value->type.dtype, type.dtype);
  }
  if (const auto* broadcast = std::get_if<ir::Broadcast>(&expr.node)) {
    Value* value = Eval(broadcast->value);
    if (type.lanes == 1) return value;
    return b_.CreateVectorSplat(static_cast<unsigned>(type.lanes), value);
  }
  if (const auto* reduce = std::get_if<ir::ReduceLanes>(&expr.node)) return EvalReduce(*reduce);
  if (const auto* mask = std::get_if<ir::LaneMask>(&expr.node)) {
    const Affine active = EvalIndex(mask->active);
    if (type.lanes > 1) return pool_.LaneMask(active, type.lanes);
    return b_.CreateICmpSGT(pool_.ValueOf(active), b_.getInt64(0));
  }
  if (const auto* shuffle = std::get_if<ir::ShuffleXor>(&expr.node)) {
    std::vector<int> from(static_cast<size_t>(type.lanes));
    for (int i = 0; i < type.lanes; ++i) from[static_cast<size_t>(i)] = i ^ shuffle->lane_mask;
    return b_.CreateShuffleVector(Eval(shuffle->value), from);
  }
  std::vector<llvm::Constant*> lanes;  // LaneIndex
  const bool floats = IsFloat(type.dtype);
  for (int i = 0; i < type.lanes; ++i) {
    llvm::Constant* lane = llvm::ConstantFP::get(b_.getFloatTy(), i);
    if (!floats) lane = llvm::ConstantInt::get(scalar, static_cast<uint64_t>(i));
    lanes.push_back(lane);
  }
  Value* index = type.lanes == 1 ? lanes[0] : llvm::ConstantVector::get(lanes);
  return floats ? Convert(b_, features_, index, DType::kF32, type.dtype) : index;
}

Value* PhaseEmitter::EvalApply(const ir::Expr& expr, const ir::Apply& apply) {
  std::vector<Value*> args;
  for (const ir::ExprRef& arg : apply.args) args.push_back(Eval(arg));
  if (!status_.ok()) return Zero(expr.type.dtype, expr.type.lanes);
  return EmitScalarOp(b_, features_, apply.op, apply.args.back()->type.dtype, std::move(args));
}

// By halves, a tree of vector operations; what is odd is folded in lane by lane.
Value* PhaseEmitter::EvalReduce(const ir::ReduceLanes& reduce) {
  Value* value = Eval(reduce.value);
  const ir::Type type = reduce.value->type;
  if (!status_.ok() || type.lanes == 1) return value;
  const auto combine = [&](Value* a, Value* b) {
    return EmitScalarOp(b_, features_, reduce.op, type.dtype, {a, b});
  };
  int lanes = type.lanes;
  while (lanes % 2 == 0 && lanes > 2) {
    std::vector<int> low(static_cast<size_t>(lanes / 2));
    for (size_t i = 0; i < low.size(); ++i) low[i] = static_cast<int>(i);
    std::vector<int> high = low;
    for (int& lane : high) lane += lanes / 2;
    value = combine(b_.CreateShuffleVector(value, low), b_.CreateShuffleVector(value, high));
    lanes /= 2;
  }
  Value* total = b_.CreateExtractElement(value, uint64_t{0});
  for (int lane = 1; lane < lanes; ++lane) {
    total = combine(total, b_.CreateExtractElement(value, static_cast<uint64_t>(lane)));
  }
  return total;
}

Value* PhaseEmitter::EvalLoad(const ir::Expr& expr, const ir::Load& load) {
  const ir::Buffer& buffer = kernel_.buffers[static_cast<size_t>(load.buffer)];
  const ir::Type type = expr.type;
  if (buffer.scope == ir::Scope::kRegister) {
    llvm::AllocaInst* slot = RegisterAt(load.buffer, load.index);
    if (slot == nullptr) return Zero(type.dtype, type.lanes);
    return b_.CreateLoad(slot->getAllocatedType(), slot);
  }
  Access access{load.buffer, EvalIndex(load.index), load.stride, type.lanes, {}, false};
  if (load.mask != nullptr) {
    access.active = EvalIndex(load.mask);
    access.masked = !access.active.IsConstant() || access.active.constant < type.lanes;
  }
  Value* value = memory_.Load(access);
  if (type.dtype != DType::kBool) return value;
  return b_.CreateICmpNE(value, llvm::Constant::getNullValue(value->getType()));
}

}  // namespace mlc::codegen
