#include "compiler/schedule/cpu/row_reduce/row_frame.h"

#include <algorithm>
#include <limits>
#include <memory>
#include <utility>

namespace mlc::schedule {

using ir::ExprRef;

ExprRef Do(ScalarOp op, ExprRef a) { return ir::MakeApply(op, {std::move(a)}); }
ExprRef Do(ScalarOp op, ExprRef a, ExprRef b) {
  return ir::MakeApply(op, {std::move(a), std::move(b)});
}

RowFrame::RowFrame(const graph::Workload& workload, const RowProblem& problem,
                   const RowKnobs& knobs)
    : workload(workload),
      problem(problem),
      knobs(knobs),
      node(workload.graph()[problem.anchor]),
      builder("row_reduce"),
      fused(workload, builder),
      lanes(problem.lanes),
      chains(static_cast<int>(
          std::clamp<int64_t>(knobs.chains, 1, (problem.Columns() + lanes - 1) / lanes))),
      padded((problem.Columns() + lanes - 1) / lanes * lanes) {}

int64_t RowFrame::Blocks() const {
  return problem.inner ? 1 : (problem.Columns() + Width() - 1) / Width();
}

double RowFrame::Count() const {
  return static_cast<double>(problem.Reduced() * (problem.inner ? problem.Columns() : 1));
}

ExprRef RowFrame::Number(double value) const {
  if (IsFloat(problem.dtype)) return ir::Float(problem.dtype, value, lanes);
  ExprRef scalar = std::make_shared<const ir::Expr>(
      ir::Expr{{problem.dtype, 1}, ir::IntImm{static_cast<int64_t>(value)}});
  return lanes == 1 ? scalar : ir::MakeBroadcast(scalar, lanes);
}
// For extrema of integers none exists as a double.
ExprRef RowFrame::Neutral(ScalarOp op) const {
  if (op == ScalarOp::kAdd) return Number(0);
  if (op == ScalarOp::kMul) return Number(1);
  if (IsFloat(problem.dtype)) {
    const double inf = std::numeric_limits<double>::infinity();
    return Number(op == ScalarOp::kMax ? -inf : inf);
  }
  const bool is_signed = !IsUnsigned(problem.dtype);
  const int bits = SizeOf(problem.dtype) * 8 - (is_signed ? 1 : 0);
  const int64_t top = bits == 64   ? -1  // its bits
                      : bits == 63 ? std::numeric_limits<int64_t>::max()
                                   : (int64_t{1} << bits) - 1;
  const int64_t bottom = is_signed ? -top - 1 : 0;
  ExprRef scalar = std::make_shared<const ir::Expr>(
      ir::Expr{{problem.dtype, 1}, ir::IntImm{op == ScalarOp::kMax ? bottom : top}});
  return lanes == 1 ? scalar : ir::MakeBroadcast(scalar, lanes);
}

}  // namespace mlc::schedule
