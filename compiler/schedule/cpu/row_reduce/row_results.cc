#include "compiler/schedule/cpu/row_reduce/row_results.h"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "compiler/schedule/fusion/fused_rows.h"

namespace mlc::schedule {

using graph::ValueId;
using ir::ExprRef;

RowResults::RowResults(RowFrame& frame, RowLoops& loops, const target::Target& target)
    : frame_(frame), loops_(loops), streaming_(frame.knobs.streaming) {
  const RowProblem& problem = frame.problem;
  acc_ = frame.builder.Registers("acc", problem.dtype, frame.lanes, frame.chains);
  first_ = frame.builder.Registers("first", problem.dtype, frame.lanes, frame.chains);
  second_ = frame.builder.Registers("second", problem.dtype, frame.lanes, frame.chains);
  const std::vector<ValueId>& outputs = frame.workload.outputs();
  for (ValueId output : outputs) {
    streaming_ =
        streaming_ && problem.same_space &&
        CanStream(frame.workload.graph()[output].type, problem.column, frame.lanes, target);
  }
  const ValueId both[] = {problem.anchor, problem.x};
  bind_x_ = std::all_of(outputs.begin(), outputs.end(),
                        [&](ValueId id) { return Fused::Covers(frame.workload, id, both); });
}

void RowResults::Accumulate(ScalarOp op, ir::BufferId to,
                            const std::function<ExprRef(const Visit&)>& value) {
  for (int j = 0; j < (frame_.problem.inner ? frame_.chains : frame_.used); ++j)
    frame_.builder.Set(acc_, ir::Int(j), frame_.Neutral(op));
  loops_.Sweep([&](const Visit& visit) {
    ExprRef x = value(visit);
    if (visit.point.active && frame_.problem.inner) {
      x = ir::MakeApply(ScalarOp::kSelect, {ir::MakeLaneMask(visit.point.active, frame_.lanes), x,
                                            frame_.Neutral(op)});
    }
    frame_.builder.Set(acc_, visit.chain, Do(op, frame_.builder.Get(acc_, visit.chain), x));
  });
  if (!frame_.problem.inner) {
    for (int j = 0; j < frame_.used; ++j) {
      frame_.builder.Set(to, ir::Int(j), frame_.builder.Get(acc_, ir::Int(j)));
    }
    return;
  }
  ExprRef total = frame_.builder.Get(acc_, ir::Int(0));
  for (int j = 1; j < frame_.chains; ++j)
    total = Do(op, total, frame_.builder.Get(acc_, ir::Int(j)));
  if (frame_.lanes > 1) total = ir::MakeBroadcast(ir::MakeReduce(op, total), frame_.lanes);
  frame_.builder.Set(to, ir::Int(0), total);
}
ExprRef RowResults::Get(ir::BufferId registers, const ExprRef& chain) {
  return frame_.builder.Get(registers, frame_.problem.inner ? ir::Int(0) : chain);
}
void RowResults::Update(ir::BufferId registers, const std::function<ExprRef(ExprRef)>& function) {
  for (int j = 0; j < Count(); ++j) {
    frame_.builder.Set(registers, ir::Int(j), function(frame_.builder.Get(registers, ir::Int(j))));
  }
}

void RowResults::StoreRow(const Visit& visit, ExprRef value, ExprRef x) {
  std::map<ValueId, ExprRef> bound = {{frame_.problem.anchor, std::move(value)}};
  if (x && bind_x_) bound[frame_.problem.x] = std::move(x);
  frame_.fused.StoreOutputs(visit.point, bound, streaming_ && !visit.point.active);
}

void RowResults::StorePreviousRow(const Visit& visit, ExprRef value) {
  Visit previous = visit;
  for (int d : frame_.problem.kept) {
    previous.point.at[static_cast<size_t>(d)] = frame_.previous_at[static_cast<size_t>(d)];
  }
  StoreRow(previous, std::move(value), nullptr);
}

// Where the j-th result of the row belongs, in the space of the kept dimensions.
Point RowResults::ResultPoint(int j) const {
  std::vector<ExprRef> at = frame_.at;
  Point point;
  if (!frame_.problem.inner) {
    at[static_cast<size_t>(frame_.problem.column)] = frame_.column + int64_t{j} * frame_.lanes;
    point.lanes = frame_.lanes;
    if (j + 1 == frame_.used && frame_.tail != 0) point.active = ir::Int(frame_.tail);
  }
  const bool keepdims = frame_.node.Int("keepdims") != 0;
  for (size_t d = 0; d < at.size(); ++d) {
    const bool is_column = static_cast<int>(d) == frame_.problem.column;
    const auto& dims = frame_.problem.kept;
    const bool kept = is_column
                          ? !frame_.problem.inner
                          : std::find(dims.begin(), dims.end(), static_cast<int>(d)) != dims.end();
    if (!kept && !keepdims) continue;
    if (kept && is_column) point.dim = static_cast<int>(point.at.size());
    point.at.push_back(kept ? at[d] : ir::Int(0));
  }
  if (point.lanes == 1) point.dim = -1;
  return point;
}

void RowResults::StoreResults() {
  for (int j = 0; j < Count(); ++j) {
    ExprRef value = frame_.builder.Get(first_, ir::Int(j));
    if (frame_.problem.inner && frame_.lanes > 1) {
      // All lanes are equal: any reduction by extremum gives the scalar.
      value = ir::MakeReduce(ScalarOp::kMax, value);
    }
    frame_.fused.StoreOutputs(ResultPoint(j), {{frame_.problem.anchor, value}});
  }
}

}  // namespace mlc::schedule
