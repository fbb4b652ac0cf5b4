// The rows of a product with few rows that are an RMS norm of an operand
// (ContractionProblem::norm): each block computes them, all of k, in the registers of its threads.
// Appends to a builder; not thread-safe; borrows its arguments.
#pragma once

#include <functional>
#include <map>
#include <vector>

#include "compiler/schedule/cuda/tile/gpu_tile.h"
#include "compiler/schedule/fusion/fused.h"

namespace mlc::schedule {

class NormedRows {
 public:
  // Declares registers and shared memory. REQUIRES: g.p.norm is a value.
  NormedRows(const graph::Workload& workload, const GpuContraction& g, int threads, Fused& fused,
             ir::KernelBuilder& b);

  // `lanes` elements of row m from k on, in compute type.
  using Piece = std::function<void(int64_t m, const ir::ExprRef& k, const ir::ExprRef& value)>;

  int lanes() const { return lanes_; }
  // Reads the constants: may stand before the wait for the launches before this one.
  void Preload(const ir::ExprRef& thread);
  // Calls `store` for every piece of the rows, and with zeros for those from k to `padded`, in some
  // thread of the block. Has a barrier of the block.
  void ForPieces(const ir::ExprRef& thread, int64_t padded, const Piece& store);

  // Registers of a thread and bytes of shared memory that the rows take; 0 if they are an operand.
  static int Registers(const GpuContraction& g, int threads);
  static int64_t Bytes(const GpuContraction& g, int threads);
  static constexpr int kMostRegisters = 96;
  // Whether blocks of some size can hold the rows.
  static bool Fits(const GpuContraction& g) { return Registers(g, 512) <= kMostRegisters; }

 private:
  struct Constant {
    graph::ValueId id = graph::kNoValue;
    ir::BufferId registers = 0;
  };

  void FindConstants();
  int WidestLanes() const;
  int64_t Slot(int64_t m, int64_t piece) const { return m * pieces_ + piece; }
  // Calls body for the pieces of a thread that exist.
  void Visit(const ir::ExprRef& thread, int64_t end,
             const std::function<void(int64_t piece, const ir::ExprRef& k)>& body);
  Point PointAt(graph::ValueId id, const ir::ExprRef& m, const ir::ExprRef& k) const;
  void ReadRows(const ir::ExprRef& thread);
  void Combine(const ir::ExprRef& thread);

  const graph::Workload& workload_;
  const GpuContraction& g_;
  const graph::Value& norm_;
  const int threads_;
  Fused& fused_;
  ir::KernelBuilder& b_;
  int lanes_ = 1;
  int64_t pieces_ = 1;  // of a thread and row
  std::vector<Constant> constants_;
  ir::BufferId x_ = 0, factor_ = 0;  // registers: pieces of rows; of each row, its sum, then factor
  ir::BufferId parts_ = 0;           // shared: sums of warps
};

}  // namespace mlc::schedule
