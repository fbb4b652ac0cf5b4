#include "compiler/ir/rounded_byte.h"

#include <algorithm>
#include <cmath>
#include <variant>

namespace mlc::ir {

namespace {

bool IsApply(const ExprRef& expr, ScalarOp op) {
  const auto* apply = std::get_if<Apply>(&expr->node);
  return apply != nullptr && apply->op == op;
}

const ExprRef& Argument(const ExprRef& expr, size_t index) {
  return std::get<Apply>(expr->node).args[index];
}

// The integer of low .. high that all lanes equal.
std::optional<int64_t> IntegerIn(const ExprRef& expr, int64_t low, int64_t high) {
  const Expr* one = expr.get();
  if (const auto* broadcast = std::get_if<Broadcast>(&one->node)) one = broadcast->value.get();
  const auto* number = std::get_if<FloatImm>(&one->node);
  if (number == nullptr || number->value != std::floor(number->value)) return std::nullopt;
  if (number->value < static_cast<double>(low) || number->value > static_cast<double>(high)) {
    return std::nullopt;
  }
  return static_cast<int64_t>(number->value);
}

}  // namespace

std::optional<RoundedByte> FindRoundedByte(const Expr& cast) {
  const ExprRef& value = std::get<Cast>(cast.node).value;
  const DType dtype = cast.type.dtype;
  if ((dtype != DType::kU8 && dtype != DType::kI8) || value->type.dtype != DType::kF32) {
    return std::nullopt;
  }
  const int64_t least = dtype == DType::kU8 ? 0 : -128, most = least + 255;
  RoundedByte rounded{value, 0, least, most};
  // Takes an operation with an integer away, from outside to inside; bounds in either order.
  const auto strip = [&](ScalarOp op) -> std::optional<int64_t> {
    if (!IsApply(rounded.x, op)) return std::nullopt;
    const std::optional<int64_t> found = IntegerIn(Argument(rounded.x, 1), least, most);
    if (found) rounded.x = Argument(rounded.x, 0);
    return found;
  };
  for (int i = 0; i < 2; ++i) {
    rounded.high = std::min(rounded.high, strip(ScalarOp::kMin).value_or(most));
    rounded.low = std::max(rounded.low, strip(ScalarOp::kMax).value_or(least));
  }
  rounded.zero = strip(ScalarOp::kAdd).value_or(0);
  if (!IsApply(rounded.x, ScalarOp::kRound) || rounded.low > rounded.high) return std::nullopt;
  rounded.x = Argument(rounded.x, 0);
  return rounded;
}

}  // namespace mlc::ir
