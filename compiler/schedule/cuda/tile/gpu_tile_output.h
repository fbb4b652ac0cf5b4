// The end of a tiled contraction. The sums of a block are in shared memory, row by row. Threads
// take runs of neighbouring outputs, add up the slices, add up the parts of a split k in order, and
// store through the fused epilogue. The last block to arrive adds up the parts; in a cluster, each
// block adds up its share of the runs. Appends to a builder; not thread-safe; borrows its
// arguments.
#pragma once

#include <vector>

#include "compiler/schedule/cuda/tile/gpu_row_box.h"
#include "compiler/schedule/cuda/tile/gpu_tile.h"
#include "compiler/schedule/fusion/fused.h"

namespace mlc::schedule {

struct TileOutputShape {
  int bm = 64, bn = 64;
  int64_t pitch = 72;  // of a row of sums
  int slices = 1;      // copies of the tile, bm * pitch apart
  int split = 1;
  bool cluster = false;  // the blocks that share k are one, in the order of their parts
  int threads = 128;
  int64_t tiles = 1;  // of all batches
  DType sum = DType::kF32;
  // Tiles of sums that an output is computed from (ContractionProblem::ends), side by side: `bn`
  // columns apart, within the pitch.
  int ends = 1;
  RowBox box = {};
};

class TileOutput {
 public:
  // Declares scratch and counters when k is split.
  TileOutput(const graph::Workload& workload, const GpuContraction& g, const TileOutputShape& shape,
             Fused& fused, ir::KernelBuilder& b);

  // `tile` counts over batches too; m, n: first row and column of the tile; part: of the split.
  struct Place {
    ir::ExprRef thread, tile, m, n, part;
    BatchPlace batch;
    ir::ExprRef sums_at = nullptr;  // of the tile's first sum; null: 0
    BoxPlace first = {};            // of a box, whose m counts its own rows
  };
  // REQUIRES: a barrier since the sums were written; not inside a loop or branch.
  void Store(ir::BufferId sums, const Place& place);
  // `lanes` neighbouring outputs of a row of the tile.
  Point PointAt(const Place& place, const ir::ExprRef& row, const ir::ExprRef& column, int lanes);
  // Whether a row of the tile is one of the problem's, if tiles have multiples of `granule` rows: a
  // bool, or null if it always is.
  ir::ExprRef RowInside(const Place& place, const ir::ExprRef& row, int64_t granule);

 private:
  struct Run {
    ir::ExprRef row, column;  // in the tile
    ir::ExprRef index;        // among the runs of the tile
  };
  // Loops over the runs of the block: all of the tile, or its part of `shares` equal ones.
  void ForRuns(const Place& place, int shares, const std::function<void(const Run&)>& body);
  void StoreShare(ir::BufferId sums, const Place& place);
  ir::ExprRef SumAt(const Place& place, const Run& run);
  // Of one end.
  ir::ExprRef Sum(ir::BufferId sums, const ir::ExprRef& at, int end);
  ir::ExprRef PartAt(const Place& place, const ir::ExprRef& part, const Run& run, int end) const;
  void StoreRun(const Place& place, const Run& run, const std::vector<ir::ExprRef>& values);
  bool RowsAreFlat() const;
  int Lanes() const;

  const graph::Workload& workload_;
  const GpuContraction& g_;
  TileOutputShape shape_;
  Fused& fused_;
  ir::KernelBuilder& b_;
  bool along_rows_ = false;  // neighbouring threads take neighbouring rows
  bool flat_rows_ = false;   // a row index is a coordinate of the innermost row dimension
  int lanes_ = 1;            // columns of a run
  ir::BufferId parts_ = 0;
  ir::BufferId arrivals_ = 0;
  ir::BufferId peers_ = 0;  // registers: the sums of a run, by end and part
};

}  // namespace mlc::schedule
