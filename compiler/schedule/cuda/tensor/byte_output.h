// The end of a block of tensor_contraction whose results are bytes: the fused operations take the
// fragments, and results go through shared memory as bytes, a quarter of the traffic of sums. An
// operand as large as the results is copied to where they will lie while the block multiplies.
// Appends to a builder; not thread-safe; borrows its arguments.
#pragma once

#include <functional>

#include "compiler/schedule/cuda/tensor/tensor_plan.h"
#include "compiler/schedule/cuda/tile/gpu_tile_output.h"
#include "compiler/schedule/fusion/fused.h"

namespace mlc::schedule {

class ByteOutput {
 public:
  // Declares shared memory: that of the tiles, which are read no more, or with a guest its own.
  ByteOutput(const graph::Workload& workload, const GpuContraction& g, const TensorPlan& plan,
             ir::BufferId tiles, TileOutput& output, Fused& fused, ir::KernelBuilder& b);

  // Begins the copies of the guest, if there is one.
  void Fetch(const TileOutput::Place& place);
  struct Warp {
    ir::ExprRef lane, row, column;  // the first ones of its fragments
  };
  // REQUIRES: the guest has arrived, for all threads.
  void Finish(ir::BufferId sums, const TileOutput::Place& place, const Warp& warp);

 private:
  struct Piece {
    ir::ExprRef at;  // in shared memory
    Point point;
    ir::ExprRef inside;  // null: always
  };
  void Fill(ir::BufferId sums, const TileOutput::Place& place, const Warp& warp);
  void ForPieces(const TileOutput::Place& place, const std::function<void(const Piece&)>& body);

  const graph::Workload& workload_;
  const GpuContraction& g_;
  const TensorPlan& plan_;
  TileOutput& output_;
  Fused& fused_;
  ir::KernelBuilder& b_;
  ir::BufferId results_ = 0, column_ = 0, fold_ = 0;
};

}  // namespace mlc::schedule
