#include "compiler/codegen/cuda/index_facts.h"

#include <algorithm>
#include <limits>
#include <numeric>

namespace mlc::codegen {

namespace {

using Wide = __int128;

constexpr int64_t kLowest = std::numeric_limits<int64_t>::min();
constexpr int64_t kHighest = std::numeric_limits<int64_t>::max();

int64_t Magnitude(int64_t value) {
  if (value == kLowest) return int64_t{1} << 62;  // divides it
  return value < 0 ? -value : value;
}

// The interval, or that it leaves 64 bits. Factors of two outlast wrapping around.
IndexFacts Made(Wide low, Wide high, int64_t multiple) {
  IndexFacts facts;
  if (low < kLowest || high > kHighest) {
    facts.wraps = true;
    facts.multiple = multiple & -multiple;
    return facts;
  }
  facts.low = static_cast<int64_t>(low);
  facts.high = static_cast<int64_t>(high);
  facts.multiple = facts.low == 0 && facts.high == 0 ? 0 : multiple;
  return facts;
}

IndexFacts Product(const IndexFacts& a, const IndexFacts& b) {
  const Wide corners[] = {Wide{a.low} * b.low, Wide{a.low} * b.high, Wide{a.high} * b.low,
                          Wide{a.high} * b.high};
  const auto [low, high] = std::minmax_element(std::begin(corners), std::end(corners));
  int64_t multiple = 0;
  if (__builtin_mul_overflow(a.multiple, b.multiple, &multiple)) {
    const int twos = __builtin_ctzll(static_cast<uint64_t>(a.multiple)) +
                     __builtin_ctzll(static_cast<uint64_t>(b.multiple));
    multiple = int64_t{1} << std::min(twos, 62);
  }
  return Made(*low, *high, multiple);
}

int64_t FloorDivide(int64_t a, int64_t b) { return a / b - (a % b != 0 && a < 0); }

// b > 0.
IndexFacts Quotient(const IndexFacts& a, int64_t b) {
  const int64_t multiple = a.multiple % b == 0 ? a.multiple / b : 1;
  return Made(FloorDivide(a.low, b), FloorDivide(a.high, b), multiple);
}

IndexFacts Remainder(const IndexFacts& a, int64_t b) {
  const bool same = a.low >= 0 && a.high < b;
  if (same) return a;
  return Made(0, b - 1, std::gcd(a.multiple, b));
}

}  // namespace

IndexFacts IndexFacts::Constant(int64_t value) { return {value, value, Magnitude(value), false}; }

IndexFacts IndexFacts::Interval(int64_t low, int64_t high) { return {low, high, 1, false}; }

void IndexAnalysis::BindLoop(const ir::For& loop) {
  const IndexFacts begin = Of(loop.begin);
  const IndexFacts end = Of(loop.end);
  int64_t last = end.high == kLowest ? kLowest : end.high - 1;
  if (begin.low == begin.high && last >= begin.low) {
    const auto distance = static_cast<uint64_t>(last) - static_cast<uint64_t>(begin.low);
    last = static_cast<int64_t>(static_cast<uint64_t>(last) -
                                distance % static_cast<uint64_t>(loop.step));
  }
  IndexFacts facts = Made(begin.low, std::max(begin.low, last), 1);
  facts.multiple = std::gcd(begin.multiple, loop.step);
  Bind(loop.var, facts);
}

IndexFacts IndexAnalysis::Of(const ir::Expr& e) {
  const auto found = known_.find(&e);
  if (found != known_.end()) return found->second;
  const IndexFacts facts = Compute(e);
  known_.emplace(&e, facts);
  return facts;
}

IndexFacts IndexAnalysis::Compute(const ir::Expr& e) {
  if (e.type.lanes != 1 || IsFloat(e.type.dtype)) return {};
  if (const auto* constant = std::get_if<ir::IntImm>(&e.node)) {
    return IndexFacts::Constant(constant->value);
  }
  if (const auto* var = std::get_if<ir::VarRef>(&e.node)) return OfVar(var->var);
  if (const auto* apply = std::get_if<ir::Apply>(&e.node)) {
    return e.type.dtype == DType::kI64 ? ComputeApply(*apply) : IndexFacts{};
  }
  if (const auto* cast = std::get_if<ir::Cast>(&e.node)) {
    const DType from = cast->value->type.dtype;
    if (e.type.dtype != DType::kI64 || IsFloat(from) || from == DType::kI64) return {};
    if (from == DType::kBool) return IndexFacts::Interval(0, 1);
    const int bits = SizeOf(from) * 8;
    if (from == DType::kU8) return IndexFacts::Interval(0, 255);
    return IndexFacts::Interval(-(int64_t{1} << (bits - 1)), (int64_t{1} << (bits - 1)) - 1);
  }
  return {};
}

IndexFacts IndexAnalysis::ComputeApply(const ir::Apply& apply) {
  const IndexFacts a = apply.op == ScalarOp::kSelect ? Of(apply.args[1]) : Of(apply.args[0]);
  const IndexFacts b = apply.args.size() == 1 ? a : Of(apply.args.back());
  const int64_t both = std::gcd(a.multiple, b.multiple);
  const bool positive_constant = b.low == b.high && b.low > 0;
  switch (apply.op) {
    case ScalarOp::kAdd:
      return Made(Wide{a.low} + b.low, Wide{a.high} + b.high, both);
    case ScalarOp::kSub:
      return Made(Wide{a.low} - b.high, Wide{a.high} - b.low, both);
    case ScalarOp::kNeg:
      return Made(-Wide{a.high}, -Wide{a.low}, a.multiple);
    case ScalarOp::kMul:
      return Product(a, b);
    case ScalarOp::kDiv:
      return positive_constant ? Quotient(a, b.low) : IndexFacts{};
    case ScalarOp::kMod:
      return positive_constant ? Remainder(a, b.low) : IndexFacts{};
    case ScalarOp::kMin:
      return Made(std::min(a.low, b.low), std::min(a.high, b.high), both);
    case ScalarOp::kMax:
      return Made(std::max(a.low, b.low), std::max(a.high, b.high), both);
    case ScalarOp::kSelect:
      return Made(std::min(a.low, b.low), std::max(a.high, b.high), both);
    default:
      return {};
  }
}

}  // namespace mlc::codegen
