#include "compiler/schedule/cuda/tensor/role_copies.h"

namespace mlc::schedule {

namespace {

using ir::ExprRef;
using ir::Int;

struct Share {
  int parts;      // of which a block brings one
  ExprRef part;   // its number
  ExprRef ranks;  // of those that get it, by bits; null: this block alone
};

Share ShareOf(int parts, const ExprRef& rank) {
  if (parts == 1) return {1, Int(0), nullptr};
  return {parts, rank, Int((1 << parts) - 1)};
}

void CopyRows(const GpuContraction& g, const RolePlan& plan, const StageCopy& at,
              const ExprRef& depth, ir::KernelBuilder& b, ir::AsyncBuilder& async) {
  const Share rows = ShareOf(plan.cluster.n, at.rank);
  const int64_t height = plan.tensor.bm / rows.parts;
  ir::CopyTensor copy =
      RowsCopy(b, g, plan, at.global.rows, {at.m_tile, at.first, depth, rows.parts, rows.part});
  copy.to = at.stages.rows;
  copy.to_index = at.stage * plan.stage.rows + rows.part * (height * plan.tensor.bk);
  copy.barrier = at.stages.barriers;
  copy.barrier_index = at.stage;
  copy.ranks = rows.ranks;
  async.CopyTensor(copy);
}

// Columns that were packed before the launch.
void CopyPanels(const RolePlan& plan, const StageCopy& at, const Share& columns,
                ir::AsyncBuilder& async) {
  const TensorPlan& t = plan.tensor;
  const int64_t elements = int64_t{t.bn} / columns.parts * t.bk;
  const ExprRef to = at.stage * plan.stage.columns + columns.part * elements;
  // No panel lies behind the last one; what is copied for a tile outside does not matter.
  const bool past = plan.n_units() * plan.cluster.n > t.n_tiles;
  const ExprRef tile = past ? ir::Min(at.n_tile, Int(t.n_tiles - 1)) : at.n_tile;
  const ExprRef panel = tile * t.k_steps + at.step;
  for (int64_t tap = 0; tap < plan.share.taps; ++tap) {
    const ExprRef from = panel + tap * plan.stage.count;
    async.CopyBulk({at.stages.columns, to + tap * t.columns.elements, at.global.columns,
                    from * t.columns.elements + columns.part * elements, static_cast<int>(elements),
                    at.stages.barriers, at.stage, columns.ranks});
  }
}

}  // namespace

void CopyStage(const GpuContraction& g, const RolePlan& plan, const StageCopy& at,
               ir::KernelBuilder& b, ir::AsyncBuilder& async) {
  const TensorPlan& t = plan.tensor;
  const ExprRef depth = b.Let("k_first", at.step * int64_t{t.bk});
  CopyRows(g, plan, at, depth, b, async);
  const Share columns = ShareOf(plan.cluster.m, at.rank);
  if (t.columns.mode == TileMode::kPacked) return CopyPanels(plan, at, columns, async);
  const int width = t.bn / columns.parts;
  const ExprRef to = at.stage * plan.stage.columns + columns.part * (int64_t{width} * t.bk);
  async.CopyTensor({at.stages.columns, to, at.global.columns,
                    at.n_tile * int64_t{t.bn} + columns.part * int64_t{width}, depth, width, g.n,
                    g.k, g.p.column_stride, at.stages.barriers, at.stage, columns.ranks});
}

}  // namespace mlc::schedule
