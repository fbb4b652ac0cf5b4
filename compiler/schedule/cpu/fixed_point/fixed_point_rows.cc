#include "compiler/schedule/cpu/fixed_point/fixed_point_rows.h"

#include <algorithm>
#include <memory>
#include <utility>

namespace mlc::schedule {

using ir::ExprRef;
using ir::Int;

namespace {

constexpr int64_t kHalf = int64_t{1} << (kDigitBits - 1);
// Between them the inverse of a factor is finite and not zero.
constexpr double kLeastTop = 1e-32;
constexpr double kMostTop = 3.4e38;
// Groups that are worth a chunk of work.
constexpr int64_t kChunkGroups = 16;
constexpr int64_t kChunksAThread = 4;

ExprRef Apply(ScalarOp op, ExprRef a, ExprRef b) {
  return ir::MakeApply(op, {std::move(a), std::move(b)});
}

ExprRef Word(int64_t value, int lanes = 1) {
  const auto one = std::make_shared<const ir::Expr>(ir::Expr{{DType::kI32, 1}, ir::IntImm{value}});
  return ir::MakeBroadcast(one, lanes);
}

ExprRef Number(double value, int lanes = 1) { return ir::Float(DType::kF32, value, lanes); }

class RowPhase {
 public:
  RowPhase(const ContractionProblem& problem, const FixedPointPlan& plan, ir::BufferId rows,
           ir::KernelBuilder& builder)
      : p_(problem),
        plan_(plan),
        rows_(rows),
        builder_(builder),
        lanes_(static_cast<int>(plan.digit_words())),
        top_digit_(plan.digits - 1),
        high_(int64_t{1} << (kDigitBits * top_digit_)),
        largest_(127.0 * static_cast<double>(high_)),
        bias_(128 * high_) {
    for (int digit = 0; digit < top_digit_; ++digit) bias_ += kHalf << (kDigitBits * digit);
    const int64_t units = problem.inner.out * plan.groups;
    out_.digits =
        builder.Workspace("digits", DType::kI32, units * plan.digits * plan.digit_words());
    out_.factors = builder.Workspace("factors", DType::kF32, units);
    if (problem.packed.zeros >= 0) {
      out_.totals = builder.Workspace("totals", DType::kF32, units);
    } else {
      out_.starts = builder.Workspace("starts", DType::kI32, 2 * units);
    }
    element_ = builder.Registers("element", DType::kF32, lanes_, 4);
    fixed_ = builder.Registers("fixed", DType::kI32, lanes_, 4);
    top_ = builder.Registers("top", DType::kF32, 1, 1);
    sum_ = builder.Registers("fixed_sum", DType::kI32, 1, 2);
  }

  FixedPointRows Run(const target::Target& target) {
    const int64_t units = p_.inner.out * plan_.groups;
    const int64_t most = target.cpu().threads * kChunksAThread;
    const int64_t chunks = std::clamp<int64_t>(units / kChunkGroups, 1, most);
    builder_.Parallel("part", chunks, [&](const ExprRef& part) {
      builder_.For("unit", ir::FloorDiv(part * units, chunks),
                   ir::FloorDiv((part + 1) * units, chunks), 1,
                   [&](const ExprRef& unit) { EmitGroup(unit); });
    });
    return out_;
  }

 private:
  void EmitGroup(const ExprRef& unit) {
    const ExprRef row = builder_.Let("row", ir::FloorDiv(unit, plan_.groups));
    const ExprRef group = builder_.Let("group", ir::Mod(unit, plan_.groups));
    LoadElements(row * p_.inner.row_stride, group * plan_.group);
    const ExprRef limited =
        Apply(ScalarOp::kMin, Apply(ScalarOp::kMax, builder_.Get(top_, Int(0)), Number(kLeastTop)),
              Number(kMostTop));
    const ExprRef inverse =
        ir::MakeBroadcast(Apply(ScalarOp::kDiv, Number(largest_), limited), lanes_);
    for (int64_t byte = 0; byte < 4; ++byte) {
      ExprRef x = Apply(ScalarOp::kMul, builder_.Get(element_, Int(byte)), inverse);
      x = Apply(ScalarOp::kMax, x, Number(-largest_, lanes_));
      x = Apply(ScalarOp::kMin, x, Number(largest_, lanes_));
      x = ir::MakeCast(DType::kI32, ir::MakeApply(ScalarOp::kRound, {x}));
      builder_.Set(fixed_, Int(byte), Apply(ScalarOp::kAdd, x, Word(bias_, lanes_)));
    }
    builder_.Store(out_.factors, unit,
                   Apply(ScalarOp::kMul, builder_.Get(top_, Int(0)),
                         Number(1 / (largest_ * static_cast<double>(CodeFactor(p_))))));
    StoreDigits(unit);
    StoreSums(unit);
  }

  void LoadElements(const ExprRef& row, const ExprRef& first) {
    ExprRef top;
    for (int64_t byte = 0; byte < 4; ++byte) {
      const ExprRef k = first + byte * lanes_;
      ExprRef mask;
      if (p_.depth % plan_.group != 0) {
        mask = ir::Max(Int(0), ir::Min(Int(lanes_), Int(p_.depth) - k));
      }
      ExprRef x = builder_.Load(rows_, row + k * p_.row_k_stride, lanes_,
                                std::max<int64_t>(1, p_.row_k_stride), mask);
      if (p_.row_dtype != DType::kF32) x = ir::MakeCast(DType::kF32, x);
      builder_.Set(element_, Int(byte), x);
      const ExprRef size = ir::MakeApply(ScalarOp::kAbs, {builder_.Get(element_, Int(byte))});
      top = top ? Apply(ScalarOp::kMax, top, size) : size;
    }
    builder_.Set(top_, Int(0), ir::MakeReduce(ScalarOp::kMax, top));
  }

  // A biased digit of the elements of one byte of the words.
  ExprRef Digit(int64_t byte, int digit) {
    ExprRef value = builder_.Get(fixed_, Int(byte));
    if (digit > 0) {
      value = Apply(ScalarOp::kDiv, value, Word(int64_t{1} << (kDigitBits * digit), lanes_));
    }
    if (digit == top_digit_) return value;
    return Apply(ScalarOp::kAnd, value, Word((int64_t{1} << kDigitBits) - 1, lanes_));
  }

  void StoreDigits(const ExprRef& unit) {
    for (int digit = 0; digit <= top_digit_; ++digit) {
      const int64_t bias = digit == top_digit_ ? 128 : kHalf;
      ExprRef words;
      for (int64_t byte = 0; byte < 4; ++byte) {
        ExprRef bits = Apply(ScalarOp::kSub, Digit(byte, digit), Word(bias, lanes_));
        if (byte < 3) bits = Apply(ScalarOp::kAnd, bits, Word(255, lanes_));
        if (byte > 0) {
          bits = Apply(ScalarOp::kMul, bits, Word(int64_t{1} << (8 * byte), lanes_));
        }
        words = words ? Apply(ScalarOp::kOr, words, bits) : bits;
      }
      builder_.Store(out_.digits, (unit * int64_t{plan_.digits} + int64_t{digit}) * int64_t{lanes_},
                     words);
    }
  }

  void StoreSums(const ExprRef& unit) {
    const auto sum_of = [&](const auto& value) {
      ExprRef sum = value(0);
      for (int64_t byte = 1; byte < 4; ++byte) sum = Apply(ScalarOp::kAdd, sum, value(byte));
      return ir::MakeReduce(ScalarOp::kAdd, sum);
    };
    const auto whole = [&](int64_t byte) { return builder_.Get(fixed_, Int(byte)); };
    const auto high = [&](int64_t byte) { return Digit(byte, top_digit_); };
    builder_.Set(sum_, Int(0), Apply(ScalarOp::kSub, sum_of(whole), Word(bias_ * plan_.group)));
    if (out_.totals >= 0) {
      const auto factor = -static_cast<double>(CodeFactor(p_));
      builder_.Store(out_.totals, unit,
                     Apply(ScalarOp::kMul, ir::MakeCast(DType::kF32, builder_.Get(sum_, Int(0))),
                           Number(factor)));
      return;
    }
    builder_.Set(sum_, Int(1), Apply(ScalarOp::kSub, sum_of(high), Word(128 * plan_.group)));
    const ExprRef zero = Word(-p_.packed.zero * CodeFactor(p_));
    const ExprRef low = Apply(ScalarOp::kSub, builder_.Get(sum_, Int(0)),
                              Apply(ScalarOp::kMul, builder_.Get(sum_, Int(1)), Word(high_)));
    builder_.Store(out_.starts, unit * int64_t{2}, Apply(ScalarOp::kMul, low, zero));
    builder_.Store(out_.starts, unit * int64_t{2} + 1,
                   Apply(ScalarOp::kMul, builder_.Get(sum_, Int(1)), zero));
  }

  const ContractionProblem& p_;
  const FixedPointPlan& plan_;
  ir::BufferId rows_;
  ir::KernelBuilder& builder_;
  int lanes_;
  int top_digit_;
  int64_t high_;    // the value of the highest digit
  double largest_;  // of an element
  // Added to an element, this makes digits of it that are not negative: 64 or 128 more than they
  // are.
  int64_t bias_;
  FixedPointRows out_;
  ir::BufferId element_ = 0;
  ir::BufferId fixed_ = 0;
  ir::BufferId top_ = 0;
  ir::BufferId sum_ = 0;
};

}  // namespace

int64_t CodeFactor(const ContractionProblem& problem) {
  return int64_t{1} << (8 - problem.packed.bits);
}

FixedPointRows EmitFixedPointRows(const ContractionProblem& problem, const FixedPointPlan& plan,
                                  const target::Target& target, ir::BufferId rows,
                                  ir::KernelBuilder& builder) {
  return RowPhase(problem, plan, rows, builder).Run(target);
}

}  // namespace mlc::schedule
