// The walk over the rows of a row reduction that all its formulas share: the loops over rows and
// vectors (row_loops.h), the row buffer between passes, software prefetch and the software pipeline
// (row_input.h), and the registers that a pass accumulates into (row_results.h). Not thread-safe;
// borrows its arguments; one object per kernel.
//
// Passes over one row. A later pass recomputes x, or reads the row buffer (RowStorage):
//
//    pass 1   x = Load -> row buffer              max, sum or mean
//    pass 2   Reload <- row buffer                sum of exp(x - max) or of squares
//               WriteRowBuffer: exp(x - max)
//    pass 3   ReadRowBuffer <- row buffer         StoreRow
//
// The software pipeline over the rows of a chunk (RowStorage::kPipelined, softmax): while row r is
// computed, row r - 1 is read from the pipeline buffer, scaled and stored, so that arithmetic,
// loads and stores overlap. x of a later row is prefetched meanwhile.
//
//    iteration    prologue   steady  ...                epilogue
//    prefetch     row 1      row 2   row 3   ...
//    max, exp     row 0      row 1   row 2   ... row n-1
//    scale, store            row 0   row 1   ... row n-2   row n-1
#pragma once

#include "compiler/schedule/cpu/row_reduce/row_frame.h"
#include "compiler/schedule/cpu/row_reduce/row_input.h"
#include "compiler/schedule/cpu/row_reduce/row_loops.h"
#include "compiler/schedule/cpu/row_reduce/row_results.h"

namespace mlc::schedule {

struct RowWalk {
  RowWalk(const graph::Workload& workload, const target::Target& target, const RowProblem& problem,
          const RowKnobs& knobs)
      : frame(workload, problem, knobs),
        loops(frame),
        results(frame, loops, target),
        input(frame) {}
  RowWalk(const RowWalk&) = delete;
  RowWalk& operator=(const RowWalk&) = delete;

  // The digests of kernels depend on the order in which these declare buffers.
  RowFrame frame;
  RowLoops loops;
  RowResults results;
  RowInput input;
};

}  // namespace mlc::schedule
