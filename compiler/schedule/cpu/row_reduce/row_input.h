// The elements of a row: computed, kept in the row buffer between passes, kept in the pipeline
// buffer for the next row, and prefetched. Not thread-safe; borrows the frame.
#pragma once

#include "compiler/schedule/cpu/row_reduce/row_frame.h"

namespace mlc::schedule {

class RowInput {
 public:
  // Declares the buffers.
  explicit RowInput(RowFrame& frame);

  // x at a vector: computed; computed and written to the row buffer if later passes read it there;
  // from the row buffer, or computed again.
  ir::ExprRef Compute(const Visit& visit);
  ir::ExprRef Load(const Visit& visit);
  ir::ExprRef Reload(const Visit& visit);
  // Writes the row buffer at a vector and returns the value; reads it.
  ir::ExprRef WriteRowBuffer(const Visit& visit, ir::ExprRef value);
  ir::ExprRef ReadRowBuffer(const Visit& visit);
  // The pipeline buffer at a vector: reads the value of the row before, valid until the next call;
  // writes this row's in its place and returns it.
  ir::ExprRef ReadPipelineBuffer(const Visit& visit);
  ir::ExprRef WritePipelineBuffer(const Visit& visit, ir::ExprRef value);
  // Puts the value into a register, valid until the next call: computed once, read any number of
  // times.
  ir::ExprRef Materialize(ir::ExprRef value);
  // Prefetches the same place of a later row, while this one keeps the arithmetic busy. Where two
  // passes share the work, each prefetches half of the row.
  void Prefetch(const Visit& visit, PrefetchRows pass);

 private:
  // Whether x is copied into the row buffer, since computing it again costs more than a load.
  bool CopiesInput() const;

  RowFrame& frame_;
  ir::BufferId row_buffer_ = 0, value_ = 0, pipeline_buffer_ = 0, previous_ = 0;
};

}  // namespace mlc::schedule
