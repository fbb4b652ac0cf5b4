// The inner loop of every contraction: rows x vectors of accumulators held in registers, fed by one
// vector load per column vector and one scalar broadcast per row. Used by matrix products,
// convolutions, Winograd and attention. Accumulators are f32; operands of narrower storage are
// widened when they are read. Accumulators of i32 take operands of words of four bytes, u8 in rows
// and i8 in columns (ScalarOp::kDot4). Not thread-safe; borrows the builder.
//
//   RegisterTile tile(builder, rows, vectors, lanes);   declares the registers, once per kernel
//   tile.Zero(block);
//   tile.Loop(block, a, b, depth, options);             acc[r][v] += a[r][k] * b[k][v]
//   ... tile.Get(row, vector) ...
#pragma once

#include <cstdint>
#include <functional>

#include "compiler/ir/build.h"

namespace mlc::schedule {

// A rectangle of the tile's rows: rows (o, i) with o in [outer_begin, outer_end) and i in
// [inner_begin, inner_end). Row (o, i) is register row o * inner_pitch + i.
struct RowBlock {
  int outer_begin = 0;
  int outer_end = 1;
  int inner_begin = 0;
  int inner_end = 0;
  int inner_pitch = 0;

  static RowBlock Rows(int rows) { return {0, 1, 0, rows, rows}; }
  int count() const { return (outer_end - outer_begin) * (inner_end - inner_begin); }
};

// Element (row (o, i), k) is at base + o * outer_stride + i * inner_stride + k * k_stride.
struct RowOperand {
  ir::BufferId buffer = 0;
  DType dtype = DType::kF32;
  ir::ExprRef base;
  int64_t outer_stride = 0;
  int64_t inner_stride = 0;
  int64_t k_stride = 1;
  // Words whose bytes lie apart, from each to the next; 0: elements are read whole.
  int64_t byte_stride = 0;
};

// Vector v of step k starts at base + k * k_stride + v * lanes; its lanes are consecutive.
struct ColumnOperand {
  ir::BufferId buffer = 0;
  DType dtype = DType::kF32;
  ir::ExprRef base;
  int64_t k_stride = 0;
};

struct LoopOptions {
  int unroll = 1;           // steps of k per iteration
  int prefetch = 0;         // prefetch distance in steps of k; 0: none
  int64_t flat_depth = 16;  // depths up to this are unrolled completely
  // Software prefetch into the second-level cache: `prefetch_lines` lines of the column operand's
  // buffer per iteration, from `prefetch_base` on.
  ir::ExprRef prefetch_base = nullptr;
  int prefetch_lines = 0;
};

class RegisterTile {
 public:
  RegisterTile(ir::KernelBuilder& builder, int rows, int vectors, int lanes,
               DType sums = DType::kF32);

  int lanes() const { return lanes_; }
  int vectors() const { return vectors_; }

  void Zero(int rows);
  // Starts from the caller's values, one vector for each (row, vector).
  void Init(int rows, const std::function<ir::ExprRef(ir::ExprRef, ir::ExprRef)>& value);
  // One step of k: acc[row][v] += a[row][k] * b[k][v] for the rows of the block.
  void Step(const RowBlock& block, const RowOperand& a, const ColumnOperand& b,
            const ir::ExprRef& k);
  // The same with vector v of the columns as `column` gives it.
  using ColumnVector = std::function<ir::ExprRef(const ir::ExprRef& vector)>;
  void Step(const RowBlock& block, const RowOperand& a, const ir::ExprRef& k,
            const ColumnVector& column);
  // Steps k = 0 .. depth-1.
  void Loop(const RowBlock& block, const RowOperand& a, const ColumnOperand& b, int64_t depth,
            const LoopOptions& options);
  // The accumulator of a register row; `row` and `vector` become constants by unrolling.
  ir::ExprRef Get(const ir::ExprRef& row, const ir::ExprRef& vector);
  // acc = value, for rescaling and for reloading partial sums.
  void Set(const ir::ExprRef& row, const ir::ExprRef& vector, ir::ExprRef value);

 private:
  ir::ExprRef Index(const ir::ExprRef& row, const ir::ExprRef& vector) const;

  ir::ExprRef RowElement(const RowOperand& a, const ir::ExprRef& at);

  ir::KernelBuilder& builder_;
  DType sums_;
  int vectors_;
  int lanes_;
  ir::BufferId acc_;
  ir::BufferId column_;
  ir::BufferId scalar_;
};

}  // namespace mlc::schedule
