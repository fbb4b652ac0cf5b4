// The results of a row: the registers that a pass accumulates into, and the stores of rows and of
// results. Not thread-safe; borrows the frame and the loops.
#pragma once

#include <functional>

#include "compiler/schedule/cpu/row_reduce/row_frame.h"
#include "compiler/schedule/cpu/row_reduce/row_loops.h"

namespace mlc::schedule {

class RowResults {
 public:
  // Declares the registers.
  RowResults(RowFrame& frame, RowLoops& loops, const target::Target& target);

  // Registers of the row's results, one for each vector of a block where columns are kept.
  ir::BufferId first() const { return first_; }
  ir::BufferId second() const { return second_; }
  int Count() const { return frame_.problem.inner ? 1 : frame_.used; }
  ir::ExprRef Get(ir::BufferId registers, const ir::ExprRef& chain);
  void Update(ir::BufferId registers, const std::function<ir::ExprRef(ir::ExprRef)>& function);
  // Reduces `value` over every vector of the row with `op`, and broadcasts the result into each
  // register of `to`.
  void Accumulate(ScalarOp op, ir::BufferId to,
                  const std::function<ir::ExprRef(const Visit&)>& value);

  // Stores the outputs at a vector, from the anchor's value and, unless null, x. StoreResults
  // stores the outputs in the space of the kept dimensions, from first().
  void StoreRow(const Visit& visit, ir::ExprRef value, ir::ExprRef x);
  void StorePreviousRow(const Visit& visit, ir::ExprRef value);  // at the row before
  void StoreResults();

 private:
  Point ResultPoint(int j) const;

  RowFrame& frame_;
  RowLoops& loops_;
  bool streaming_ = false;
  bool bind_x_ = false;
  ir::BufferId acc_ = 0, first_ = 0, second_ = 0;
};

}  // namespace mlc::schedule
