// Stores the finished sums of a register tile through the workload's epilogue. Not thread-safe;
// borrows its collaborators.
#pragma once

#include <vector>

#include "compiler/schedule/cpu/contraction/contraction_chunk.h"
#include "compiler/schedule/cpu/contraction/contraction_tiles.h"
#include "compiler/schedule/cpu/register_tile.h"
#include "compiler/schedule/fusion/fused.h"

namespace mlc::schedule {

class ContractionStore {
 public:
  ContractionStore(const graph::Workload& workload, const ContractionProblem& problem,
                   const ContractionPlan& plan, Fused& fused, RegisterTile& registers,
                   ir::KernelBuilder& builder);

  // Prefetches what the epilogue will read of other tensors of the output's shape (residual sums),
  // for the tile's rows of one column panel. Call it at the tile's start, so that the data has
  // arrived by its end.
  void Fetch(const RowTile& tile, const ContractionChunk& chunk, const ir::ExprRef& panel);
  // Stores the tile's rows of one column panel, without columns beyond the last.
  void Store(const RowTile& tile, const ContractionChunk& chunk, const ir::ExprRef& panel);

 private:
  void StoreRows(const RowTile& tile, const ContractionChunk& chunk, const ir::ExprRef& panel,
                 int64_t columns);
  Point PointOf(const RowTile& tile, const ContractionChunk& chunk, const ir::ExprRef& row_outer,
                const ir::ExprRef& row_inner, const ir::ExprRef& column) const;
  void StoreVector(const RowTile& tile, const ContractionChunk& chunk, const ir::ExprRef& panel,
                   const ir::ExprRef& row_outer, const ir::ExprRef& row_inner,
                   const ir::ExprRef& vector, const ir::ExprRef& active);

  const graph::Workload& workload_;
  const ContractionProblem& p_;
  const ContractionPlan& plan_;
  Fused& fused_;
  RegisterTile& registers_;
  ir::KernelBuilder& builder_;
  bool one_column_;
  std::vector<int> streams_;  // operands as large as the output that the epilogue reads
};

}  // namespace mlc::schedule
