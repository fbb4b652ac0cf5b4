// The row operand of a contraction's inner loop: read in place, or from a copy in f32, or in words
// of four bytes, that each pass makes of a chunk's rows. Not thread-safe; borrows its
// collaborators.
#pragma once

#include "compiler/schedule/cpu/contraction/contraction_chunk.h"
#include "compiler/schedule/cpu/contraction/contraction_tiles.h"
#include "compiler/schedule/cpu/register_tile.h"

namespace mlc::schedule {

class ContractionRows {
 public:
  // Declares the copy if the plan has one.
  ContractionRows(const ContractionProblem& problem, const ContractionPlan& plan, ir::BufferId rows,
                  RowTiles& tiles, ir::KernelBuilder& builder);

  // Copies the chunk's rows for one pass; does nothing if rows are read in place.
  void Stage(const ContractionChunk& chunk, const ir::ExprRef& pass);
  // The offset of the tile's first row in a pass.
  ir::ExprRef Base(const RowTile& tile, const ContractionChunk& chunk,
                   const ir::ExprRef& pass) const;
  // Rows of a tile from element `base` on.
  RowOperand From(const ir::ExprRef& base) const;

 private:
  ir::ExprRef InPlace(const RowTile& tile, const ContractionChunk& chunk,
                      const ir::ExprRef& pass) const;
  void StageTile(const RowTile& tile, const ir::ExprRef& from);

  const ContractionProblem& p_;
  const ContractionPlan& plan_;
  ir::BufferId rows_;
  RowTiles& tiles_;
  ir::KernelBuilder& builder_;
  ir::BufferId staged_ = 0;  // [row][pitch]
};

}  // namespace mlc::schedule
