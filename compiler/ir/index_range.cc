#include "compiler/ir/index_range.h"

#include <algorithm>
#include <variant>

namespace mlc::ir {

namespace {

// Beyond all indices, with room for sums.
constexpr int64_t kFar = int64_t{1} << 60;
constexpr IndexRange kAnything = {-kFar, kFar};

__extension__ typedef __int128 Wide;

int64_t Clamped(Wide value) { return static_cast<int64_t>(std::clamp<Wide>(value, -kFar, kFar)); }

IndexRange Add(IndexRange a, IndexRange b) {
  return {Clamped(Wide{a.least} + b.least), Clamped(Wide{a.most} + b.most)};
}

IndexRange Sub(IndexRange a, IndexRange b) {
  return {Clamped(Wide{a.least} - b.most), Clamped(Wide{a.most} - b.least)};
}

IndexRange Mul(IndexRange a, IndexRange b) {
  const Wide products[] = {Wide{a.least} * b.least, Wide{a.least} * b.most, Wide{a.most} * b.least,
                           Wide{a.most} * b.most};
  const auto [least, most] = std::ranges::minmax(products);
  return {Clamped(least), Clamped(most)};
}

// Towards negative infinity. REQUIRES: b > 0.
int64_t FloorOf(int64_t a, int64_t b) { return a / b - (a % b < 0 ? 1 : 0); }

IndexRange Div(IndexRange a, IndexRange b) {
  if (!b.is_point() || b.least <= 0) return kAnything;
  return {FloorOf(a.least, b.least), FloorOf(a.most, b.least)};
}

IndexRange Mod(IndexRange a, IndexRange b) {
  if (!b.is_point() || b.least <= 0) return kAnything;
  const int64_t turn = FloorOf(a.least, b.least);
  if (turn != FloorOf(a.most, b.least)) return {0, b.least - 1};
  return {a.least - turn * b.least, a.most - turn * b.least};
}

IndexRange Compare(bool always, bool never) {
  if (always) return {1, 1};
  return never ? IndexRange{0, 0} : IndexRange{0, 1};
}

bool IsTruth(IndexRange a) { return a.least >= 0 && a.most <= 1; }

}  // namespace

IndexRange IndexRanges::OfApply(const Apply& apply) const {
  if (apply.args.size() != 2) return kAnything;
  const IndexRange a = Of(apply.args[0]), b = Of(apply.args[1]);
  switch (apply.op) {
    case ScalarOp::kAdd:
      return Add(a, b);
    case ScalarOp::kSub:
      return Sub(a, b);
    case ScalarOp::kMul:
      return Mul(a, b);
    case ScalarOp::kDiv:
      return Div(a, b);
    case ScalarOp::kMod:
      return Mod(a, b);
    case ScalarOp::kMin:
      return {std::min(a.least, b.least), std::min(a.most, b.most)};
    case ScalarOp::kMax:
      return {std::max(a.least, b.least), std::max(a.most, b.most)};
    case ScalarOp::kLess:
      return Compare(a.most < b.least, a.least >= b.most);
    case ScalarOp::kLessEqual:
      return Compare(a.most <= b.least, a.least > b.most);
    case ScalarOp::kEqual:
      return Compare(a.is_point() && b.is_point() && a.least == b.least,
                     a.most < b.least || b.most < a.least);
    case ScalarOp::kAnd:
      if (!IsTruth(a) || !IsTruth(b)) return kAnything;
      return {std::min(a.least, b.least), std::min(a.most, b.most)};
    case ScalarOp::kOr:
      if (!IsTruth(a) || !IsTruth(b)) return kAnything;
      return {std::max(a.least, b.least), std::max(a.most, b.most)};
    default:
      return kAnything;
  }
}

IndexRange IndexRanges::Of(const ExprRef& expr) const {
  if (const auto* number = std::get_if<IntImm>(&expr->node)) return {number->value, number->value};
  if (const auto* var = std::get_if<VarRef>(&expr->node)) {
    return vars_[static_cast<size_t>(var->var)];
  }
  const bool is_index = expr->type.lanes == 1 &&
                        (expr->type.dtype == DType::kI64 || expr->type.dtype == DType::kBool);
  if (const auto* apply = std::get_if<Apply>(&expr->node); apply != nullptr && is_index) {
    return OfApply(*apply);
  }
  return kAnything;
}

}  // namespace mlc::ir
