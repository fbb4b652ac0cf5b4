// Constructors of expressions, with the folding of build.h.
#include <algorithm>
#include <bit>
#include <utility>

#include "base/check.h"
#include "compiler/ir/build.h"
#include "compiler/ir/types.h"

namespace mlc::ir {

namespace {

template <typename Node>
ExprRef Make(Type type, Node node) {
  return std::make_shared<const Expr>(Expr{type, std::move(node)});
}

constexpr Type kIndex{DType::kI64, 1};

// Two's complement without undefined behaviour.
int64_t WrapAdd(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
}
int64_t WrapMul(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
}
int64_t FloorDivide(int64_t a, int64_t b) {
  if (b == -1) return WrapMul(a, -1);
  return a / b - (a % b != 0 && (a % b < 0) != (b < 0));
}

// The operand of `e` when e = op(operand, constant).
bool MatchConstant(const ExprRef& e, ScalarOp op, ExprRef* operand, int64_t* constant) {
  const Apply* apply = std::get_if<Apply>(&e->node);
  if (apply == nullptr || apply->op != op || e->type != kIndex) return false;
  if (!IsConstInt(apply->args[1], constant)) return false;
  *operand = apply->args[0];
  return true;
}

bool SameVar(const ExprRef& a, const ExprRef& b) {
  if (a == b) return true;
  const VarRef* x = std::get_if<VarRef>(&a->node);
  const VarRef* y = std::get_if<VarRef>(&b->node);
  return x != nullptr && y != nullptr && x->var == y->var;
}

ExprRef Plain(ScalarOp op, ExprRef a, ExprRef b, Type type = kIndex) {
  return Make(type, Apply{op, {std::move(a), std::move(b)}});
}

ExprRef FoldAdd(ExprRef a, ExprRef b) {
  int64_t x = 0, y = 0;
  if (IsConstInt(a, &x)) {
    if (IsConstInt(b, &y)) return Int(WrapAdd(x, y));
    std::swap(a, b);
  }
  ExprRef inner;
  int64_t c = 0;
  if (IsConstInt(b, &y)) {
    if (y == 0) return a;
    if (MatchConstant(a, ScalarOp::kAdd, &inner, &c)) return FoldAdd(inner, Int(WrapAdd(c, y)));
    return Plain(ScalarOp::kAdd, a, b);
  }
  // Constants move outwards, so that they meet.
  if (MatchConstant(a, ScalarOp::kAdd, &inner, &c)) return FoldAdd(FoldAdd(inner, b), Int(c));
  if (MatchConstant(b, ScalarOp::kAdd, &inner, &c)) return FoldAdd(FoldAdd(a, inner), Int(c));
  return Plain(ScalarOp::kAdd, a, b);
}

ExprRef FoldMul(ExprRef a, ExprRef b) {
  int64_t x = 0, y = 0;
  if (IsConstInt(a, &x)) {
    if (IsConstInt(b, &y)) return Int(WrapMul(x, y));
    std::swap(a, b);
  }
  if (!IsConstInt(b, &y)) return Plain(ScalarOp::kMul, a, b);
  if (y == 0) return Int(0);
  if (y == 1) return a;
  ExprRef inner;
  int64_t c = 0;
  if (MatchConstant(a, ScalarOp::kMul, &inner, &c)) return FoldMul(inner, Int(WrapMul(c, y)));
  if (MatchConstant(a, ScalarOp::kAdd, &inner, &c)) {
    return FoldAdd(FoldMul(inner, b), Int(WrapMul(c, y)));
  }
  return Plain(ScalarOp::kMul, a, b);
}

ExprRef FoldSub(const ExprRef& a, const ExprRef& b) {
  int64_t y = 0;
  if (IsConstInt(b, &y)) return FoldAdd(a, Int(WrapMul(y, -1)));
  if (SameVar(a, b)) return Int(0);
  ExprRef inner;
  int64_t c = 0;
  if (MatchConstant(b, ScalarOp::kAdd, &inner, &c)) {
    return FoldAdd(FoldSub(a, inner), Int(WrapMul(c, -1)));
  }
  if (MatchConstant(a, ScalarOp::kAdd, &inner, &c)) return FoldAdd(FoldSub(inner, b), Int(c));
  return Plain(ScalarOp::kSub, a, b);
}

ExprRef FoldDiv(const ExprRef& a, const ExprRef& b) {
  int64_t x = 0, y = 0;
  if (!IsConstInt(b, &y) || y == 0) return Plain(ScalarOp::kDiv, a, b);
  if (y == 1) return a;
  if (IsConstInt(a, &x)) return Int(FloorDivide(x, y));
  ExprRef inner;
  int64_t c = 0;
  if (MatchConstant(a, ScalarOp::kMul, &inner, &c) && c % y == 0) {
    return FoldMul(inner, Int(FloorDivide(c, y)));
  }
  if (y > 0 && MatchConstant(a, ScalarOp::kDiv, &inner, &c) && c > 0 && c <= INT64_MAX / y) {
    return FoldDiv(inner, Int(c * y));
  }
  return Plain(ScalarOp::kDiv, a, b);
}

ExprRef FoldMod(const ExprRef& a, const ExprRef& b) {
  int64_t x = 0, y = 0;
  if (!IsConstInt(b, &y) || y == 0) return Plain(ScalarOp::kMod, a, b);
  if (y == 1) return Int(0);
  if (IsConstInt(a, &x)) return Int(WrapAdd(x, WrapMul(-1, WrapMul(FloorDivide(x, y), y))));
  ExprRef inner;
  int64_t c = 0;
  if (MatchConstant(a, ScalarOp::kMul, &inner, &c) && c % y == 0) return Int(0);
  return Plain(ScalarOp::kMod, a, b);
}

ExprRef FoldExtreme(ScalarOp op, const ExprRef& a, const ExprRef& b) {
  int64_t x = 0, y = 0;
  if (IsConstInt(a, &x) && IsConstInt(b, &y)) {
    return Int(op == ScalarOp::kMin ? std::min(x, y) : std::max(x, y));
  }
  if (SameVar(a, b)) return a;
  return Plain(op, a, b);
}

ExprRef Bool(bool value) { return Make(Type{DType::kBool, 1}, IntImm{value}); }

// Comparison of constant indices and logic with constants; null when nothing folds.
ExprRef FoldBool(ScalarOp op, const std::vector<ExprRef>& args) {
  int64_t x = 0, y = 0;
  const bool first = IsConstInt(args[0], &x);
  if (op == ScalarOp::kNot) return first ? Bool(x == 0) : nullptr;
  if (args.size() != 2) return nullptr;
  const bool second = IsConstInt(args[1], &y);
  if (first && second) {
    if (op == ScalarOp::kEqual) return Bool(x == y);
    if (op == ScalarOp::kLess) return Bool(x < y);
    if (op == ScalarOp::kLessEqual) return Bool(x <= y);
  }
  if (op == ScalarOp::kAnd && (first || second)) {
    const bool value = (first ? x : y) != 0;
    return value ? args[first ? 1 : 0] : Bool(false);
  }
  if (op == ScalarOp::kOr && (first || second)) {
    const bool value = (first ? x : y) != 0;
    return value ? Bool(true) : args[first ? 1 : 0];
  }
  return nullptr;
}

}  // namespace

bool IsConstInt(const ExprRef& e, int64_t* value) {
  const IntImm* constant = std::get_if<IntImm>(&e->node);
  if (constant == nullptr) return false;
  *value = constant->value;
  return true;
}

ExprRef Int(int64_t value) { return Make(kIndex, IntImm{value}); }
ExprRef operator+(const ExprRef& a, const ExprRef& b) { return MakeApply(ScalarOp::kAdd, {a, b}); }
ExprRef operator-(const ExprRef& a, const ExprRef& b) { return MakeApply(ScalarOp::kSub, {a, b}); }
ExprRef operator*(const ExprRef& a, const ExprRef& b) { return MakeApply(ScalarOp::kMul, {a, b}); }
ExprRef operator+(const ExprRef& a, int64_t b) { return a + Int(b); }
ExprRef operator-(const ExprRef& a, int64_t b) { return a - Int(b); }
ExprRef operator*(const ExprRef& a, int64_t b) { return a * Int(b); }
ExprRef FloorDiv(const ExprRef& a, int64_t b) { return MakeApply(ScalarOp::kDiv, {a, Int(b)}); }
ExprRef Mod(const ExprRef& a, int64_t b) { return MakeApply(ScalarOp::kMod, {a, Int(b)}); }
ExprRef Min(const ExprRef& a, const ExprRef& b) { return MakeApply(ScalarOp::kMin, {a, b}); }
ExprRef Max(const ExprRef& a, const ExprRef& b) { return MakeApply(ScalarOp::kMax, {a, b}); }

ExprRef Float(DType dtype, double value, int lanes) {
  MLC_CHECK(IsFloat(dtype)) << ToText(dtype);
  return MakeBroadcast(Make(Type{dtype, 1}, FloatImm{RoundTo(dtype, value)}), lanes);
}

ExprRef MakeApply(ScalarOp op, std::vector<ExprRef> args) {
  const Result<Type> type = TypeOfApply(op, args);
  MLC_CHECK(type.ok()) << type.status().message();
  if (type->lanes == 1) {
    if (ExprRef folded = type->dtype == DType::kBool ? FoldBool(op, args) : nullptr) return folded;
    int64_t condition = 0;
    if (op == ScalarOp::kSelect && IsConstInt(args[0], &condition)) {
      return condition != 0 ? args[1] : args[2];
    }
  }
  if (*type == kIndex) {
    switch (op) {
      case ScalarOp::kAdd:
        return FoldAdd(args[0], args[1]);
      case ScalarOp::kSub:
        return FoldSub(args[0], args[1]);
      case ScalarOp::kMul:
        return FoldMul(args[0], args[1]);
      case ScalarOp::kDiv:
        return FoldDiv(args[0], args[1]);
      case ScalarOp::kMod:
        return FoldMod(args[0], args[1]);
      case ScalarOp::kMin:
      case ScalarOp::kMax:
        return FoldExtreme(op, args[0], args[1]);
      default:
        break;
    }
  }
  return Make(*type, Apply{op, std::move(args)});
}

ExprRef MakeCast(DType dtype, ExprRef value) {
  if (value->type.dtype == dtype) return value;
  const Type type{dtype, value->type.lanes};
  return Make(type, Cast{std::move(value)});
}

ExprRef MakeBroadcast(ExprRef value, int lanes) {
  MLC_CHECK(value->type.lanes == 1 && IsLanes(lanes)) << "broadcast to " << lanes;
  if (lanes == 1) return value;
  const Type type{value->type.dtype, lanes};
  return Make(type, Broadcast{std::move(value)});
}

ExprRef MakeReduce(ScalarOp op, ExprRef value) {
  const Result<Type> type = TypeOfReduce(op, value);
  MLC_CHECK(type.ok()) << type.status().message();
  if (value->type.lanes == 1) return value;
  return Make(*type, ReduceLanes{op, std::move(value)});
}

ExprRef MakeShuffleXor(ExprRef value, int lane_mask) {
  const Type type = value->type;
  const bool fits = type.lanes == 1 ? SizeOf(type.dtype) == 4 && lane_mask < 32
                                    : std::has_single_bit(static_cast<unsigned>(type.lanes)) &&
                                          lane_mask < type.lanes;
  MLC_CHECK(fits && lane_mask >= 1) << "shuffle by " << lane_mask;
  return Make(type, ShuffleXor{std::move(value), lane_mask});
}

ExprRef MakeLaneMask(ExprRef active, int lanes) {
  MLC_CHECK(IsIndex(active) && IsLanes(lanes)) << "lane mask of " << lanes;
  return Make(Type{DType::kBool, lanes}, LaneMask{std::move(active)});
}

ExprRef MakeLaneIndex(DType dtype, int lanes) {
  MLC_CHECK(dtype != DType::kBool && IsLanes(lanes)) << "lane index of " << lanes;
  return Make(Type{dtype, lanes}, LaneIndex{});
}

}  // namespace mlc::ir
