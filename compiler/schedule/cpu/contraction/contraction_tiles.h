// Loops over the register tiles of a contraction's output: chunks of row tiles, edges as separate
// variants, and the taps of each tile. Not thread-safe; borrows problem and builder.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "compiler/ir/build.h"
#include "compiler/ir/limit_loops.h"
#include "compiler/schedule/cpu/contraction/contraction_segments.h"
#include "compiler/schedule/problem/contraction_problem.h"

namespace mlc::schedule {

// The place of a tile: its first output on both tiled axes.
struct RowTile {
  const TileSegment* outer = nullptr;  // null where rows of the outer axis have no segments
  const TileSegment* inner = nullptr;
  ir::ExprRef outer_at;
  ir::ExprRef inner_at;

  int outer_rows() const { return outer ? outer->rows : 1; }
  int rows() const { return outer_rows() * inner->rows; }
};

// The number of rows of the image before the tile's first one.
inline ir::ExprRef RowOf(const ContractionProblem& problem, const RowTile& tile) {
  return tile.outer_at * problem.inner.out + tile.inner_at;
}

// The taps of the outer axis that some rows of a tile need.
struct OuterTaps {
  ir::ExprRef begin;
  ir::ExprRef end;
  int row_begin = 0;
  int row_end = 1;
};

class RowTiles {
 public:
  // `segments`: tiles of one row of the outer axis are cut into segments, too. `parts`: of the
  // inner axis, how many make a row of the results.
  RowTiles(const ContractionProblem& problem, int inner_rows, int outer_rows,
           ir::KernelBuilder& builder, bool segments = false, int64_t parts = 1);

  // For a kernel that runs for a part of the rows: all tiles are as large as the largest, and the
  // last one that a run needs is one of fewer rows, down to about `least`. REQUIRES: rows along one
  // axis, with one tap. Only ir::LimitLoops makes it a kernel.
  void EndAtLimit(int least);
  // Rows of the largest tile.
  int MaxRows() const;
  // The units that chunks divide: tiles of the outer axis, else of the inner one.
  int64_t units() const { return units_; }
  void ForEach(const ir::ExprRef& chunk, int64_t chunks,
               const std::function<void(const RowTile&)>& body);
  // Loops over the taps of both outer axes that are inside the input: body(depth tap, height tap,
  // rows).
  void ForOuterTaps(
      const RowTile& tile, const ir::ExprRef& depth_at,
      const std::function<void(const ir::ExprRef&, const ir::ExprRef&, const OuterTaps&)>& body);
  // The same over the outermost axis alone.
  void ForDepthTaps(const ir::ExprRef& depth_at,
                    const std::function<void(const ir::ExprRef&)>& body);
  // The loops over tiles, where tiles are along one axis: no iteration needs what another one has
  // computed.
  const std::vector<ir::RowLoop>& row_loops() const { return row_loops_; }
  // Offset in the row operand of the first tap of a tile's first row.
  ir::ExprRef Base(const RowTile& tile, const ir::ExprRef& depth_at) const;

 private:
  using SegmentBody = std::function<void(const TileSegment&, const ir::ExprRef&)>;
  // The part of a chunk, if chunks divide the segments.
  void ForSegments(const std::vector<TileSegment>& segments, const ir::ExprRef& begin,
                   const ir::ExprRef& end, const SegmentBody& body,
                   const std::optional<ir::RowShare>& share = std::nullopt);
  // As ForSegments, after EndAtLimit.
  void ForEnds(const ir::ExprRef& begin, const ir::ExprRef& end, const SegmentBody& body,
               const std::optional<ir::RowShare>& share);
  OuterTaps Clamped(const RowAxis& axis, const ir::ExprRef& at) const;

  const ContractionProblem& p_;
  ir::KernelBuilder& builder_;
  int outer_rows_;
  int64_t inner_tiles_;
  int64_t units_;
  int64_t parts_;
  std::vector<TileSegment> inner_;
  std::vector<TileSegment> outer_;
  std::vector<TileSegment> ends_;  // of EndAtLimit: the tile, then those of fewer rows, descending
  std::vector<ir::RowLoop> row_loops_;
};

}  // namespace mlc::schedule
