#include "compiler/schedule/cuda/tensor/role_scales.h"

namespace mlc::schedule {

using ir::ExprRef;
using ir::Int;

RoleScales::RoleScales(const GpuContraction& g, const RolePlan& plan, Fused& fused,
                       ir::KernelBuilder& b)
    : g_(g), plan_(plan), fused_(fused), b_(b) {
  scales_ = b.Thread("scales", DType::kF32, PlaceOf(plan.row_tiles(), 0));
}

// Thread t has rows t / 4 and t / 4 + 8 of a warp's 16.
void RoleScales::PlaceWarp(const ExprRef& thread, const ExprRef& group_row) {
  const ExprRef warp = ir::Mod(ir::FloorDiv(thread, 32), 4);
  row_ =
      b_.Let("scaled_row", group_row + warp * int64_t{16} + ir::FloorDiv(ir::Mod(thread, 32), 4));
}

void RoleScales::Load(const ExprRef& m_tile, const ExprRef& n_tile, const ExprRef& block) {
  const ScaledBlocks& blocks = g_.p.blocks;
  const ir::BufferId rows = fused_.OperandBuffer(blocks.rows);
  const ir::BufferId columns = fused_.OperandBuffer(blocks.columns);
  const ExprRef row = b_.Let("row", m_tile * int64_t{plan_.tensor.bm} + row_);
  const ExprRef tile = ir::FloorDiv(n_tile * int64_t{plan_.tensor.bn}, blocks.across);
  for (int64_t part = 0; part < plan_.scaled_parts; ++part) {
    ExprRef number = tile + part;
    // Columns outside have a scale, too, that does not matter.
    if (plan_.padded_n() > g_.n) number = ir::Min(number, Int(blocks.wide - 1));
    const ExprRef of_columns = b_.Load(columns, block * blocks.wide + number);
    for (int64_t i = 0; i < int64_t{2} * plan_.row_tiles(); ++i) {
      ExprRef at = row + (i / 2 * 64 + i % 2 * 8);
      if (plan_.padded_m() > g_.m) at = ir::Min(at, Int(g_.m - 1));
      const ExprRef of_row = b_.Load(rows, at * blocks.along + block);
      const ExprRef scale = ir::MakeApply(ScalarOp::kMul, {of_row, of_columns});
      b_.Store(scales_, Int(PlaceOf(i / 2, part) + i % 2 * 2), ir::MakeBroadcast(scale, 2));
    }
  }
}

ExprRef RoleScales::Added(const std::vector<ExprRef>& terms, int fragment) const {
  const int columns = plan_.column_tiles();
  const int64_t part = fragment % columns * plan_.scaled_parts / columns;
  const ExprRef scale = b_.Load(scales_, Int(PlaceOf(fragment / columns, part)), 4);
  return ir::MakeApply(ScalarOp::kFma, {terms[1], scale, terms[0]});
}

}  // namespace mlc::schedule
