// The elements of a row: computed, kept in the row buffer between passes, kept in the pipeline
// buffer for the next row, and prefetched. Not thread-safe; borrows the frame.
#pragma once

#include "compiler/schedule/cpu/row_reduce/row_frame.h"

namespace mlc::schedule {

class RowInput {
 public:
  // Declares the buffers.
  explicit RowInput(RowFrame& frame);

  // Returns x at a vector. Compute computes it. Load also writes it to the row buffer if later
  // passes read it there. Reload reads it from the row buffer, or computes it again.
  ir::ExprRef Compute(const Visit& visit);
  ir::ExprRef Load(const Visit& visit);
  ir::ExprRef Reload(const Visit& visit);
  // Writes the row buffer at a vector and returns the value; reads it.
  ir::ExprRef WriteRowBuffer(const Visit& visit, ir::ExprRef value);
  ir::ExprRef ReadRowBuffer(const Visit& visit);
  // The pipeline buffer at a vector. Read returns the value of the previous row, valid until the
  // next call; Write stores this row's value in its place and returns it.
  ir::ExprRef ReadPipelineBuffer(const Visit& visit);
  ir::ExprRef WritePipelineBuffer(const Visit& visit, ir::ExprRef value);
  // Puts the value into a register, valid until the next call, so that it is computed once for any
  // number of reads.
  ir::ExprRef Materialize(ir::ExprRef value);
  // Prefetches the same place of a later row, in parallel with the arithmetic of this one. If two
  // passes share the work, each prefetches half of the row.
  void Prefetch(const Visit& visit, PrefetchRows pass);

 private:
  // True if x is copied into the row buffer, because a load costs less than computing it again.
  bool CopiesInput() const;

  RowFrame& frame_;
  ir::BufferId row_buffer_ = 0, value_ = 0, pipeline_buffer_ = 0, previous_ = 0;
};

}  // namespace mlc::schedule
