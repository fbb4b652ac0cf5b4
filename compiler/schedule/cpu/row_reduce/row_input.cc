#include "compiler/schedule/cpu/row_reduce/row_input.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace mlc::schedule {

using graph::ValueId;
using ir::ExprRef;

RowInput::RowInput(RowFrame& frame) : frame_(frame) {
  const DType dtype = frame.problem.dtype;
  ir::KernelBuilder& builder = frame.builder;
  value_ = builder.Registers("now", dtype, frame.lanes, 1);
  const int64_t elements =
      frame.problem.Reduced() * (frame.problem.inner ? frame.padded : frame.Width());
  const RowStorage storage = frame.knobs.storage;
  const bool pipelined = storage == RowStorage::kPipelined;
  if (pipelined) {
    pipeline_buffer_ = builder.Thread("behind", dtype, elements);
    previous_ = builder.Registers("was", dtype, frame.lanes, 1);
  }
  if (storage == RowStorage::kScratch || (pipelined && CopiesInput())) {
    row_buffer_ = builder.Thread("row", dtype, elements);
  } else if (storage == RowStorage::kRegisters) {
    row_buffer_ = builder.Registers("row", dtype, frame.lanes, frame.padded / frame.lanes);
  }
}

bool RowInput::CopiesInput() const {
  return frame_.knobs.storage == RowStorage::kRegisters || !frame_.problem.plain;
}

ExprRef RowInput::Compute(const Visit& visit) {
  ExprRef x = frame_.fused.Emit(frame_.problem.x, visit.point);
  return x->type.lanes == frame_.lanes ? x : ir::MakeBroadcast(x, frame_.lanes);
}
ExprRef RowInput::Materialize(ExprRef value) {
  frame_.builder.Set(value_, ir::Int(0), std::move(value));
  return frame_.builder.Get(value_, ir::Int(0));
}
ExprRef RowInput::WriteRowBuffer(const Visit& visit, ExprRef value) {
  if (frame_.knobs.storage == RowStorage::kRegisters) {
    frame_.builder.Set(row_buffer_, visit.slot, std::move(value));
    return frame_.builder.Get(row_buffer_, visit.slot);
  }
  if (frame_.knobs.storage == RowStorage::kNone) return value;
  value = Materialize(std::move(value));
  frame_.builder.Store(row_buffer_, visit.slot, value);
  return value;
}
ExprRef RowInput::ReadRowBuffer(const Visit& visit) {
  if (frame_.knobs.storage == RowStorage::kNone) return Compute(visit);
  if (frame_.knobs.storage == RowStorage::kRegisters)
    return frame_.builder.Get(row_buffer_, visit.slot);
  return frame_.builder.Load(row_buffer_, visit.slot, frame_.lanes);
}
ExprRef RowInput::ReadPipelineBuffer(const Visit& visit) {
  frame_.builder.Set(previous_, ir::Int(0),
                     frame_.builder.Load(pipeline_buffer_, visit.slot, frame_.lanes));
  return frame_.builder.Get(previous_, ir::Int(0));
}
ExprRef RowInput::WritePipelineBuffer(const Visit& visit, ExprRef value) {
  value = Materialize(std::move(value));
  frame_.builder.Store(pipeline_buffer_, visit.slot, value);
  return value;
}
ExprRef RowInput::Load(const Visit& visit) {
  return CopiesInput() ? WriteRowBuffer(visit, Compute(visit)) : Compute(visit);
}
ExprRef RowInput::Reload(const Visit& visit) {
  return CopiesInput() ? ReadRowBuffer(visit) : Compute(visit);
}

void RowInput::Prefetch(const Visit& visit, PrefetchRows pass) {
  const bool both = frame_.knobs.prefetch == PrefetchRows::kBothPasses;
  if (!both && frame_.knobs.prefetch != pass) return;
  for (ValueId id : frame_.problem.streams) {
    std::vector<ExprRef> at = visit.point.at;
    for (int d : frame_.problem.kept)
      at[static_cast<size_t>(d)] = frame_.prefetch_at[static_cast<size_t>(d)];
    if (both && visit.half) {
      const int64_t second = pass == PrefetchRows::kLastPass ? frame_.problem.Columns() / 2 : 0;
      at[static_cast<size_t>(frame_.problem.column)] = visit.half + second;
    }
    const auto& operands = frame_.workload.operands();
    const auto operand = std::find(operands.begin(), operands.end(), id) - operands.begin();
    frame_.builder.Prefetch(frame_.fused.OperandBuffer(static_cast<int>(operand)),
                            frame_.fused.Offset(frame_.workload.graph()[id].type, at), 1);
  }
}

}  // namespace mlc::schedule
