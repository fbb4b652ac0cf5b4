#include "compiler/codegen/cuda/index_operators.h"

#include <string>

namespace mlc::codegen {

namespace {

bool IsPowerOfTwo(int64_t n) { return n > 0 && (n & (n - 1)) == 0; }

Text Divide(PhaseScope& scope, const ir::Apply& apply, const Text& a, const Text& b, bool narrow) {
  const IndexFacts dividend = scope.analysis.Of(apply.args[0]);
  const IndexFacts divisor = scope.analysis.Of(apply.args[1]);
  const bool is_div = apply.op == ScalarOp::kDiv;
  if (dividend.low >= 0 && divisor.low > 0) {
    const std::string type = narrow ? "unsigned" : "unsigned long long";
    const bool constant = divisor.low == divisor.high;
    const Text by =
        constant ? Text{std::to_string(divisor.low) + (narrow ? "u" : "ull")} : CastTo(type, b);
    return CastTo(narrow ? "int" : "long long",
                  Infix(CastTo(type, a), is_div ? "/" : "%", by, Precedence::kMul));
  }
  if (divisor.low == divisor.high && IsPowerOfTwo(divisor.low)) {
    const Text whole{a.At(Precedence::kUnary)};
    if (!is_div) return Infix(whole, "&", IntText(divisor.low - 1, !narrow), Precedence::kBitAnd);
    return Infix(whole, ">>", IntText(__builtin_ctzll(static_cast<uint64_t>(divisor.low)), false),
                 Precedence::kShift);
  }
  return Call(scope.functions.Use(is_div ? "FloorDivide" : "FloorMod"), a, b);
}

}  // namespace

Text ApplyToIndices(PhaseScope& scope, ScalarOperators& operators, const ir::Expr& e,
                    const ir::Apply& apply, std::vector<Text> args) {
  bool all_fit = true;
  for (const ir::ExprRef& arg : apply.args) {
    if (arg->type.dtype == DType::kI64) all_fit = all_fit && scope.Fits(*arg);
  }
  const bool fits = scope.Fits(e);
  if (apply.op == ScalarOp::kSelect) return Chosen(args);
  const bool narrow = fits && all_fit;
  if (!narrow) {
    for (size_t i = 0; i < args.size(); ++i) {
      const auto* constant = std::get_if<ir::IntImm>(&apply.args[i]->node);
      if (constant != nullptr) {
        args[i] = IntText(constant->value, true);
      } else if (scope.Fits(*apply.args[i])) {
        args[i] = CastTo("long long", args[i]);
      }
    }
  }
  const auto done = [&](const Text& text) { return fits && !narrow ? CastTo("int", text) : text; };
  if (scope.analysis.Of(e).wraps) return done(operators.ApplyToInts(apply.op, DType::kI64, args));
  int64_t constant = 0;
  if (const auto* imm = std::get_if<ir::IntImm>(&apply.args.back()->node)) constant = imm->value;
  switch (apply.op) {
    case ScalarOp::kAdd:
      if (constant < 0 && constant > INT32_MIN) {
        return done(Infix(args[0], "-", IntText(-constant, !narrow), Precedence::kAdd));
      }
      return done(Infix(args[0], "+", args[1], Precedence::kAdd));
    case ScalarOp::kSub:
      return done(Infix(args[0], "-", args[1], Precedence::kAdd));
    case ScalarOp::kMul:
      return done(Infix(args[0], "*", args[1], Precedence::kMul));
    case ScalarOp::kNeg:
      return done(Negated(args[0]));
    case ScalarOp::kDiv:
    case ScalarOp::kMod:
      return done(Divide(scope, apply, args[0], args[1], narrow));
    default:
      return done(operators.ApplyToInts(apply.op, DType::kI64, args));
  }
}

}  // namespace mlc::codegen
